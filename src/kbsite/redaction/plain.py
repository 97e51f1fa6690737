"""Passwords that may be words like any other: told by nothing but the place that they stand in.

A word behind `password` is one where nothing else can stand: as a string of code or of JSON, as a
variable of the environment, as a field of a form, as a line of a file of settings that says beside
it who or where. In prose, and as the name of a type or of a variable, it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import AFTER, MARK
from kbsite.redaction.values import is_password, is_placeholder, is_told

_SIGN: Final = rb"[ \t]{0,48}(?::|=>?)[ \t]{0,48}"
_LETTER: Final = rb"[^\x00-\x20\x7f\\\"'`,;(){}\[\]<>$|&]"

GATE: Final = (
    rb"(?i:(?:passw(?:or)?d|passphrase|_pass|_pwd|psk)\\*[\"'`]?\]? *[:=]>? *\\*[\"'`]?"
    rb"[A-Za-z0-9+/_.~!#%^*@-])|--passw(?:or)?d +\\*[\"'`]?[A-Za-z0-9+/_.~!#%^*@]"
)
"""What the automaton looks for: such a key, and how a value may begin."""

_KEY: Final = rb"(?i)(?:passw(?:or)?d|passphrase|_pass|_pwd|" + AFTER + rb"psk)"
_ASSIGNED: Final = late(
    _KEY + rb"(?:" + MARK
    + rb")?\]?(?P<sign>" + _SIGN + rb")(?P<open>" + MARK + rb")?(?P<value>" + _LETTER
    + rb"{1,100})"
)  # fmt: skip
_WHO: Final = (
    rb"(?:-[uU]|--(?:[a-z]{1,12}-)?(?:user(?:name)?|login|email))[ =]{1,2}(?:"
    + MARK
    + rb")?[^\s\\\"'`]{1,80}(?:"
    + MARK
    + rb")?"
)
_FLAGGED: Final = rb"--passw(?:or)?d[ ]{1,3}(?:" + MARK + rb")?(" + _LETTER + rb"{4,100})"
_BESIDE_A_NAME: Final = late(_WHO + b"[ ]{1,3}" + _FLAGGED)
_BEFORE_A_NAME: Final = late(_FLAGGED + rb"(?:" + MARK + b")?[ ]{1,3}" + _WHO)
"""What a command is given behind a flag, where another flag beside it says whose it is."""
_NAME: Final = late(rb"[A-Za-z0-9_.-]*\Z")
_CAPITALS: Final = late(rb"[A-Z][A-Z0-9_]*\Z")
_FIELD: Final = late(
    rb"(?:[?&]|(?:\A|[\s\"'`]|\\[nrt])--"
    rb"|(?i:host|user|dbname|port|sslmode|user[ ]id|uid|server|database)"
    rb"=[^\s;=\"'`\\]{1,60}(?:[ ]|;[ ]?))[A-Za-z0-9_.-]*\Z"
)
"""A field of a form, an address or a connection to a database, or a flag of a command."""
_BEGIN: Final = (
    rb"(?:\A|[\r\n]|\\{1,4}[rnt]|[0-9]\t|\xe2\x86\x92|\\{1,4}u2192|\")[+-]?[ ]{0,40}(?:- )?[\"']?"
)
_LINE: Final = late(_BEGIN + rb"[A-Za-z0-9_.-]{0,60}\Z")
_LINE_ENDS: Final = late(rb"[ \t]{0,8}(?:[\r\n]|\\{1,4}[rn]|\\{0,7}\"|#|;|\Z)")
_WORD_ENDS: Final = late(rb"[\s\\\"'`&;]|\Z")
_SECTION: Final = late(_BEGIN + rb"\[[A-Za-z0-9_.: -]{1,60}\](?:[\r\n]|\\{1,4}[rn])")
_BESIDE: Final = late(
    _BEGIN + rb"(?i:[A-Za-z0-9_.-]{0,40}(?:user(?:_?name)?|login|host(?:_?name)?|port|database"
    rb"|dbname|db|server|e?mail|ssid))(?:" + MARK + rb")?" + _SIGN + rb"(?:" + MARK
    + rb")?(" + _LETTER + rb"{2,80})" + rb"(?=[ \t]{0,8}(?:[\r\n]|\\{1,4}[rn]|[\"',#;]|\Z))"
)  # fmt: skip
SHORTEST: Final = 4
"""Letters of a password, at least."""

_NEAR: Final = 300
"""Bytes around a line of a file of settings in which others of it may stand."""

_NO_PASSWORDS: Final = frozenset(
    b"admin administrator airflow any anystr array basic binary bool boolean bytes bytestring char"
    b" charfield confirm current default disabled empty enabled false field form guest hidden"
    b" input int integer invalid minio minioadmin missing mongo mysql nil none null number"
    b" object off optional optionalstr optionalstring plain postgres postgresql prompt protected"
    b" rabbitmq redis required root same secretstr set string stringfield str text textfield true"
    b" type undefined unknown unset user username value varchar void weak wrong".split()
)
"""What stands behind such a key and is the name of a type, or the word that everybody begins with.

`admin`, `root` and their like hide nothing that anybody could not guess."""
_EXAMPLE: Final = late(
    rb"(?i:pass|pwd|secret|test|demo|wrong|hash|valid|correct|match|token|getenv|environ|plain|param"
    rb"|config|string|field|input|require|error|\A(?:foo|bar|baz|abc|qwe|new|old|my))|\A[0-9.]+\Z"
    rb"|\A[/~.@%#*!=-]|\A[A-Z][a-z]+\Z|\A[a-z]+[A-Z][a-z]+|[a-z]\.[a-z]|_"
)
"""What a word is no password by: it speaks of one, or is written as names in code are."""

Found = tuple[int, int, str]


_MORE: Final = late(rb"(?:[ ]" + _LETTER + rb"{1,40}){1,11}")
"""The other words of a password with blanks."""
_SAYS: Final = late(
    rb"(?i)\b(?:must|your?|least|characters?|letters?|enter|please|should|cannot|can|not|no|is|are"
    rb"|was|for|to|of|with|this|that|here|if|or|use|used|set|repeat|again|forgot|reset|change"
    rb"|choose|new|old|missing|incorrect|empty|the)\b|pass|secret|hash|valid|string|require|error"
    rb"|example|[.!?]\Z"
)
"""What a text says that tells of passwords and is none."""


def found(data: bytes, start: int, end: int) -> Iterator[Found]:
    """Words that are passwords for where they stand, within a part of some bytes."""
    for one in _ASSIGNED.finditer(data, start, end):
        more = _MORE.match(data, one.end()) if one["open"] else None
        last = more.end() if more else _last(data, one)
        value = data[one.start("value") : last]
        if _is_phrase(data, one, value) if more else len(value) >= SHORTEST and _is_one(value):
            yield one.start("value"), last, "named-secret"
    for flagged in (_BESIDE_A_NAME, _BEFORE_A_NAME):
        for one in flagged.finditer(data, start, end):
            if is_told(one[1]):
                yield *one.span(1), "flag"


def _is_phrase(data: bytes, one: re.Match[bytes], value: bytes) -> bool:
    """Whether words in quotes are a password: a variable's, or made up with a digit or of many."""
    if not data.startswith(one["open"], one.start("value") + len(value)):
        return False
    if _SAYS.search(value) or is_placeholder(value):
        return False
    before = data[max(0, one.start() - 60) : one.start()]
    many = value.count(b" ") > 1 and (
        value.islower() or any(map(value.__contains__, b"0123456789"))
    )
    return _is_set(before, one) or many


def _is_one(value: bytes) -> bool:
    if value.lower() in _NO_PASSWORDS or is_placeholder(value):
        return False
    return is_password(value) or not _EXAMPLE.search(value)


def _last(data: bytes, one: re.Match[bytes]) -> int:
    """Where a value ends; 0 where something else than a password may stand there."""
    last = one.end("value")
    if one["open"]:
        return last if data.startswith(one["open"], last) else 0
    before = data[max(0, one.start() - 60) : one.start()]
    if one["sign"] == b"=" and _is_set(before, one):
        ends = _WORD_ENDS.match(data, last)
    else:
        ends = _LINE_ENDS.match(data, last) if _LINE.search(before) else None
        ends = ends if _is_setting(data, one, last) else None
    return last if ends else 0


def _is_set(before: bytes, one: re.Match[bytes]) -> bool:
    """Whether a value is a field's, a flag's or a variable's, which is a string without quotes."""
    key = one[0][: one.start("sign") - one.start()]
    return bool(_FIELD.search(before) or _CAPITALS.search(before + key))


def _is_setting(data: bytes, one: re.Match[bytes], last: int) -> bool:
    """Whether a line is one of a file of settings: code may look the same but for what is near."""
    near = data[max(0, one.start() - _NEAR) : last + _NEAR]
    if _SECTION.search(near):
        return True
    in_code = b"=" in one["sign"] and one["sign"] != b"="
    return not in_code and _is_beside(near)


def _is_beside(near: bytes) -> bool:
    """Whether another setting says who or where, and is no declaration of a type."""
    return any(_tells(one[1]) for one in _BESIDE.finditer(near))


def _tells(value: bytes) -> bool:
    return value.lower() not in _NO_PASSWORDS - {b"root", b"admin", b"postgres", b"mysql"}
