"""Passwords that programs are given in a way of their own: a letter, a place, their input.

Each look is made only where the automaton found the words that name the program, which most
transcripts never say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import MARK
from kbsite.redaction.values import is_given, is_key, is_told

_QUOTE: Final = b"(?:" + MARK + b")?"
_SECRET: Final = rb"([^\s\\\"'`$<>-][^\s\\\"'`|;]{3,200})"
Found = tuple[int, int, str]

_PGPASS: Final = late(
    rb"[^\s\\:\"'`]{1,100}:(?:[0-9]{2,5}|\*):[^\s\\:\"'`]{1,100}:[^\s\\:\"'`]{1,100}:" + _SECRET
)
_ORACLE: Final = late(rb"thin:[A-Za-z0-9_$#]{1,60}/" + rb"([^\s\\\"'`@]{4,100})@")

READ: Final = 700
"""Bytes that are read around the words that name a program."""

_BEFORE: Final = 300
"""Bytes before a program's name in which what is piped into it may stand."""

_BEHIND: Final = 400
"""Bytes of a command line that are read."""

_LINE: Final = late(rb"(?:[^\r\n\\]|\\{1,7}[\"'/])*")
"""The rest of a command line, however often it stands in a string."""

_DATABASE: Final = late(rb"[ ](?:-p|--password[ =])" + _QUOTE + _SECRET)
_LETTER: Final = {
    letter: late(rb"[ ]-(?:" + letter + rb")[ ]?" + _QUOTE + _SECRET)
    for letter in (
        b"a|-pass", b"p|-password", b"w|y", b"p|hp", b"P", b"N", b"passwd", b"a|-auth", b"[kK]",
    )
}  # fmt: skip
_AUTH: Final = late(rb"[ '\"](?:AUTH|auth)[ ](?:[A-Za-z0-9_-]{1,40}[ ])?" + _QUOTE + _SECRET)
_PERCENT: Final = late(rb"[A-Za-z0-9_.\\/-]{1,80}%" + _SECRET)
_COMMA: Final = late(rb"[ ](?:-u|--user)[ ]?" + _QUOTE + rb"[A-Za-z0-9_.@-]{1,80}," + _SECRET)
_HTPASSWD: Final = late(
    rb"htpasswd[ ](?:-[A-Za-z0-9]{1,8}[ ]){0,3}-[A-Za-z]{0,8}b[A-Za-z]{0,8}[ ]"
    rb"(?:-[A-Za-z0-9]{1,8}[ ]){0,3}(?:[^\s\\-][^\s\\]{0,200}[ ])?[^\s\\]{1,80}[ ]"
    + _QUOTE + _SECRET
)  # fmt: skip
_ALIAS: Final = late(
    rb"mc alias set [^\s\\]{1,80} [^\s\\]{1,200} [^\s\\]{1,80} " + _QUOTE + _SECRET
)
_WORD_BEHIND: Final = late(
    rb"(?:requirepass|BW_SESSION=|pass:|_access_key|_session_token|PASS=)[ ]{0,3}" + _QUOTE
    + _SECRET
)  # fmt: skip
_ANY_PHRASE: Final = late(
    rb"[ ](?:-p[ ]?|--passphrase[ =])(?:(?:"
    + MARK
    + rb")([^\\\"'`$\r\n<>]{4,100})"
    + MARK
    + rb"|([^\s\\\"'`$<>-][^\s\\\"'`|;]{3,200}))"
)
"""What may have blanks where it stands in quotes."""
_SLASHED: Final = late(rb"[ ]/p(?:ass)?:" + _QUOTE + _SECRET)
_QUOTED: Final = late(rb"[ (]{0,2}(?:" + MARK + rb")([^\s\\\"'`$<>%{][^\s\\\"'`]{3,200})" + MARK)
_KEY_FIELD: Final = late(rb"[ ](?:key|password)=" + _QUOTE + _SECRET)
_SHOWN: Final = late(rb"[ ]{0,20}:[ ]([^\s\\\"'`<>]{8,63})")
_TAGGED: Final = late(rb"([^\s\\\"'`<>]{8,63})<")
_CHANNEL: Final = late(rb"([A-Za-z0-9_-]{20,100})/")
_INDEX: Final = late(rb"[^\s\\]{1,80} [^\s\\]{1,80} " + _QUOTE + _SECRET)
_ORACLE_CLIENT: Final = late(
    rb"[ =]" + _QUOTE + rb"[A-Za-z][A-Za-z0-9_$#]{0,60}/" + _QUOTE
    + rb"([^\s\\\"'`@/$&<>.-][^\s\\\"'`@/]{3,100})(?<!\.sql)(?=[@\s\\\"'`]|\Z)"
)  # fmt: skip
_SPACE: Final = rb"(?:[\s#+]|\\{1,4}[nrt]){0,24}"
_PAIR: Final = late(
    rb"\(" + _SPACE + rb"(?:\w{1,20}[ ]?=[ ]?)?" + MARK + rb"[^\s\\\"'`]{1,80}" + MARK
    + _SPACE + rb"," + _SPACE + rb"(?:\w{1,20}[ ]?=[ ]?)?[bru]?" + MARK
    + rb"([^\s\\\"'`]{4,200})" + MARK
)  # fmt: skip
_LONELY: Final = late(
    rb"\(" + _SPACE + rb"(?:key[ ]?=[ ]?|token[ ]?=[ ]?)?[bru]?" + MARK
    + rb"([A-Za-z0-9_-]{20,200}=?)" + MARK + _SPACE + rb"[,)]"
)  # fmt: skip
"""A key that a function is given to log in, or to make something of."""
_BUNDLED: Final = late(
    rb"[ ](?:-u|-[a-zA-Z]{1,8}u[ ]?)" + _QUOTE + rb"[A-Za-z0-9_.@+-]{1,80}:" + _SECRET
)
_CRUMB: Final = late(rb"[ ](?:-b|--cookie)[ =]?[A-Za-z0-9_.-]{1,60}=([A-Za-z0-9+/_.~%-]{8,500})")
_VALUE: Final = late(rb"[ ]--(?:value|body|secret-string)[ =]" + _QUOTE + _SECRET)
_STORE: Final = late(rb"[ ]-(?:store|key)pass[ ]" + _QUOTE + _SECRET)
_ADDED: Final = late(rb"[^\s\\]{1,80} " + _QUOTE + _SECRET)
_BY: Final = late(
    rb"[ ]\\{0,7}[\"'`]?\w{1,40}\\{0,7}[\"'`]?[ ](?:BY|AS|by|as)[ ](?:" + MARK
    + rb")([^\s\\\"'`$<>%{][^\s\\\"'`]{3,200})" + MARK
)  # fmt: skip
_PHRASE: Final = rb"([^\s\\\"'`$<>-][^\s\\\"'`]{7,63})"
_WIRELESS: Final = late(
    rb"(?:[ ]password[ ]|\.(?:psk|password|wep-key[0-3])[ ]|--passphrase[ =])[ ]?" + _QUOTE
    + _PHRASE
)  # fmt: skip
_NETWORK: Final = late(
    rb"wpa_passphrase[ ](?:\\{0,7}[\"'][^\"'\\]{1,40}"
    + MARK + rb"|[^\s\\\"']{1,40})[ ]" + _QUOTE + _PHRASE
)  # fmt: skip
# |(?!) is of no meaning to a Python without a bug: CONTRIBUTING.md, patterns.
_GIVEN: Final = _QUOTE + rb"(?:[A-Za-z0-9_.-]{1,64}:|(?!))?+" + _SECRET
_INPUT: Final = late(rb"<<<[ ]{0,2}" + _GIVEN)
_PIPED: Final = late(
    rb"(?:echo|printf)[ ](?:-[neE]{1,3}[ ])?" + _GIVEN
    + rb"(?:\\{1,4}n[^\s\\\"'`]{0,200})?" + _QUOTE + rb"[ ]?\|[ ]?(?:[^\s|;\\]{1,60}[ ]){0,8}\Z"
)  # fmt: skip

_PROGRAMS: Final[tuple[tuple[tuple[bytes, ...], tuple[re.Pattern[bytes], ...]], ...]] = (
    ((b"mysql ", b"mysqldump ", b"mysqladmin ", b"mysqlimport ", b"mysqlsh ", b"mysqlcheck ",
      b"mariadb ", b"mariadb-dump ", b"mariadb-admin "), (_DATABASE,)),
    ((b"redis-cli ", b"valkey-cli "), (_LETTER[b"a|-pass"], _AUTH)),
    ((b"> AUTH ", b"echo AUTH ", b"echo 'AUTH ", b'echo "AUTH ', b'echo \\"AUTH '), (_AUTH,)),
    ((b"mongo ", b"mongosh ", b"mongodump ", b"mongorestore ", b"mongoexport ", b"mongoimport ",
      b"docker login ", b"podman login ", b"registry login ", b"cqlsh ", b"oc login ",
      b"az login "),
     (_LETTER[b"p|-password"],)),
    ((b"ldapsearch ", b"ldapmodify ", b"ldapadd ", b"ldapwhoami "), (_LETTER[b"w|y"],)),
    ((b"smbclient ",), (_PERCENT,)),
    ((b"lftp ",), (_COMMA,)),
    ((b"htpasswd ",), (_HTPASSWD,)),
    ((b"mc alias set ",), (_ALIAS,)),
    ((b"7z x ", b"7z a ", b"7z e ", b"7za x ", b"7za a ", b"unrar x ", b"rar a "),
     (_LETTER[b"p|hp"],)),
    ((b"unzip -", b"zip -", b"sqlcmd ", b"ipmitool ", b"mosquitto_pub ", b"mosquitto_sub "),
     (_LETTER[b"P"],)),
    ((b"twine upload ", b"racadm ", b"unlock-keychain ", b"psexec "), (_LETTER[b"p|-password"],)),
    ((b"openssl enc",), (_LETTER[b"[kK]"],)),
    ((b"x11vnc ",), (_LETTER[b"passwd"],)),
    ((b"http -", b"https -", b"xh -"), (_LETTER[b"a|-auth"],)),
    ((b"cmdkey ", b"xfreerdp "), (_SLASHED,)),
    ((b"poetry config http-basic.",), (_INDEX,)),
    ((b"oracle:thin:",), (_ORACLE,)),
    ((b"requirepass ", b"SSHPASS=", b"BW_SESSION=", b"-pass pass:", b"-passin pass:",
      b"-passout pass:", b"set aws_secret_access_key ", b"set aws_session_token "),
     (_WORD_BEHIND,)),
    ((b"hostednetwork ",), (_KEY_FIELD,)),
    ((b"curl ",), (_BUNDLED, _CRUMB)),
    ((b"keyvault secret set ", b"ssm put-parameter ", b"secretsmanager "), (_VALUE,)),
    ((b"keytool ", b"jarsigner ", b"apksigner "), (_STORE,)),
    ((b"rabbitmqctl add_user ", b"rabbitmqctl change_password "), (_ADDED,)),
    ((b"security add-",), (_LETTER[b"w|y"],)),
    ((b"conda.anaconda.org/t/",), (_CHANNEL,)),
)  # fmt: skip
"""What is looked for on the rest of the line behind the words that name a program."""
_SURE: Final[tuple[tuple[tuple[bytes, ...], tuple[re.Pattern[bytes], ...]], ...]] = (
    ((b"sqlplus ", b"sqlldr ", b"expdp ", b"impdp ", b"rman target "), (_ORACLE_CLIENT,)),
    ((b"sshpass -p", b"gpg -", b"gpg2 -"), (_ANY_PHRASE,)),
    ((b"ssh-keygen ",), (_LETTER[b"N"],)),
    ((b"IDENTIFIED WITH", b"identified with"), (_BY,)),
    ((b"IDENTIFIED BY", b"identified by", b" PASSWORD", b"ConvertTo-SecureString"), (_QUOTED,)),
    ((b"Key Content  ",), (_SHOWN,)),
    ((b"<keyMaterial>",), (_TAGGED,)),
    ((b"nmcli ", b"iwctl "), (_WIRELESS,)),
    ((b"wpa_passphrase ",), (_NETWORK,)),
)  # fmt: skip
"""The same of programs where any word is a password that stands in its place."""
_CALLS: Final = (b"auth=(", b"auth = (", b"Auth(", b".login(", b"db.auth(")
"""Where code is given a name and a password, over the ends of lines."""
_FED: Final = (
    b"sudo -S",
    b"sudo -kS",
    b"chpasswd",
    b"--password-stdin",
    b"passwd --stdin",
    b"cryptsetup ",
    b"--passphrase-fd 0",
    b"docker secret create ",
    b"podman secret create ",
    b"kinit ",
    b"openconnect ",
    b"passwd ",
    b"gh secret set ",
    b"gh auth login ",
    b"wrangler secret put ",
)
"""Programs that read a password from what is piped into them."""
_KEPT: Final = (b".pgpass", b":5432:", b":5433:", b":6432:", b":*:*:")
"""What tells of the file in which clients of PostgreSQL keep passwords, a line each."""
_LISTS: Final = (b"_KEYS=", b"_TOKENS=", b"_SECRETS=", b"_PASSWORDS=")
"""Variables that hold several values, with commas between them."""
_SENDS: Final = (
    b"send -- ", b"send \"", b'send \\"', b'send \\\\\\"', b"send {", b".send(", b"sendline(",
)  # fmt: skip
"""How scripts of expect, and of pexpect, answer what a program asks; strings of JSON among them."""
_ASKED: Final = (b"assword", b"assphrase", b"asscode", b"asswd")
"""What a script waits for that is asked for a password."""
_SENT: Final = late(
    rb"(?:send (?:-- )?|[.]send\(|sendline\()b?(?:" + MARK + rb"|\{)"
    rb"([^\s\\\"'`$<>%{}][^\s\\\"'`}]{3,200})(?:\\{1,8}[nr])?(?:" + MARK + rb"|\})"
)
_INSERTS: Final = (b"INSERT INTO ", b"insert into ")
_ROWS: Final = late(
    rb"(?:\\{0,7}[\"'`]|[\w.$\[\]-]){1,80}"
    + _SPACE
    + rb"\(([^()]{3,600})\)"
    + _SPACE
    + rb"(?:VALUES|values)"
    + _SPACE
    + rb"(?=\()"
)
_ROW: Final = late(rb"(?:," + _SPACE + rb")?\(((?:'[^'\r\n\\]{0,400}'|[^()'\\]){1,2000})\)")
_CELL: Final = late(rb"[ ]?(?:'([^']*)'|[^,']*)[ ]?(?:,|\Z)")
_NO_NAME: Final = late(rb"\\{1,7}[nrt]|[^A-Za-z_]")
_PASSWORDS: Final = (b"password", b"passwd", b"passphrase", b"pwd")
_KEYS: Final = (b"secret", b"token", b"api_key", b"apikey")
"""How the names of columns end that hold secrets."""
_SAID: Final = 8192
"""Bytes of what SQL puts into a table that are read."""
_MOST_ITEMS: Final = 64
_ITEM: Final = late(_QUOTE + rb"([A-Za-z0-9+/=_.~:-]{1,512})" + _QUOTE + rb"([,;][ ]?)?")
_NO_SECRETS: Final = late(rb"(?:PUB|PUBLIC|CACHE|SORT|PRIMARY|FOREIGN)(?:_[A-Z]{1,20}){0,3}\Z")
"""How the name of a variable begins whose keys are none of a lock."""
_LOOKS: Final = {
    **dict.fromkeys((*_LISTS, *_SENDS, *_INSERTS), ()),
    **{word: looks for words, looks in (*_PROGRAMS, *_SURE) for word in words},
    **dict.fromkeys(_CALLS, (_PAIR,)),
    b".login(": (_PAIR, _LONELY), b"Fernet(": (_LONELY,),
    **dict.fromkeys(_FED, (_INPUT,)),
    b"gh secret set ": (_VALUE, _INPUT),
    **dict.fromkeys(_KEPT, (_PGPASS,)),
}  # fmt: skip

_ANY_WORD: Final = frozenset((*_CALLS, *(word for words, _ in _SURE for word in words)))

_AT_ONCE: Final = (
    _PAIR, _LONELY, _QUOTED, _SHOWN, _TAGGED, _CHANNEL, _INDEX, _ADDED, _BY,
)  # fmt: skip
"""What stands right behind the words."""

GATES: Final = tuple(_LOOKS)
"""Words that name the programs, for the automaton."""


def names(text: bytes) -> bool:
    """Whether a match of the automaton names a program."""
    return text in _LOOKS


def found(data: bytes, at: int, text: bytes) -> Iterator[Found]:
    """What a program that is named at a place is given there to know whoever runs it."""
    if text in _LISTS:
        return _listed(data, at, at + len(text))
    if text in _SENDS:
        return _answered(data, at)
    if text in _INSERTS:
        return _inserted(data, at + len(text))
    return _given(data, at, text)


def _given(data: bytes, at: int, text: bytes) -> Iterator[Found]:
    behind = at + len(text)
    line = _LINE.match(data, at, at + _BEHIND)
    end = line.end() if line else at
    if text in _KEPT:
        at, end = max(0, at - _BEFORE // 3), at + _BEHIND
    elif text.endswith(b"("):
        behind, end = behind - 1, at + _BEHIND
    for pattern in _LOOKS[text]:
        ones: Iterable[re.Match[bytes] | None] = pattern.finditer(data, at, end)
        if pattern in _AT_ONCE:
            ones = [pattern.match(data, behind, end)]
        for one in ones:
            if one and _is_one(pattern, text)(one[one.lastindex or 1]):
                yield *one.span(one.lastindex or 1), "flag"
    if text in _FED:
        yield from _fed(data, at)


def _is_one(pattern: re.Pattern[bytes], text: bytes) -> Callable[[bytes], bool]:
    """What tells of a value that stands behind words whether it is a secret."""
    if pattern is _LONELY:
        return is_key
    return is_told if text in _ANY_WORD else is_given


def _fed(data: bytes, at: int) -> Iterator[Found]:
    """What is piped into a program that is named at a place."""
    first = max(0, at - _BEFORE)
    piped = _PIPED.search(data[first:at])
    if piped and is_given(piped[1]):
        yield first + piped.start(1), first + piped.end(1), "flag"


def _listed(data: bytes, at: int, behind: int) -> Iterator[Found]:
    """Keys and passwords in the list that a variable holds, whose name ends at a place."""
    if _NO_SECRETS.search(data, max(0, at - 40), at):
        return
    for _ in range(_MOST_ITEMS):
        one = _ITEM.match(data, behind)
        if one is None:
            return
        if len(one[1]) >= 12 and is_key(one[1]):
            yield *one.span(1), "named-secret"
        if not one[2]:
            return
        behind = one.end()


def _answered(data: bytes, at: int) -> Iterator[Found]:
    """What a script answers at a place, where it waited to be asked for a password."""
    one = _SENT.match(data, at, at + _BEHIND)
    if one and is_told(one[1]) and _is_asked(data[max(0, at - _BEFORE) : at]):
        yield *one.span(1), "flag"


def _is_asked(before: bytes) -> bool:
    """Whether what a script waited for last was to be asked for a password."""
    asked = max(map(before.rfind, _ASKED))
    since = before[asked:]
    if asked < 0 or len(since) > _BEFORE // 3 or b"expect" not in before[:asked]:
        return False
    return not any(word in since for word in (b"expect ", b"expect(", b"send"))


def _inserted(data: bytes, at: int) -> Iterator[Found]:
    """Passwords and keys in the rows that SQL puts into a table, which is named at a place."""
    end = at + _SAID
    head = _ROWS.match(data, at, end)
    if head is None:
        return
    names = [_NO_NAME.sub(b"", name).lower() for name in head[1].split(b",")]
    row = _ROW.match(data, head.end(), end)
    for _ in range(_MOST_ITEMS):
        if row is None or not any(name.endswith(_PASSWORDS + _KEYS) for name in names):
            return
        for name, cell in zip(names, _CELL.finditer(row[1]), strict=False):
            if _is_filled(name, cell[1] or b""):
                yield row.start(1) + cell.start(1), row.start(1) + cell.end(1), "named-secret"
        row = _ROW.match(data, row.end(), end)


def _is_filled(name: bytes, value: bytes) -> bool:
    """Whether what stands in a column of a table is a password or a key."""
    if name.endswith(_PASSWORDS):
        return len(value) >= 4 and is_told(value)
    return name.endswith(_KEYS) and is_key(value)
