"""What tells of a person or a machine: home folders, e-mail and IP addresses, names of hosts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from heapq import merge
from typing import Final

from kbsite.late import late
from kbsite.model.redaction import Form, Span
from kbsite.redaction.crowded import Past
from kbsite.redaction.rules import AFTER, ESCAPED, Rule

GENERIC: Final = frozenset(
    b"admin agent agents anon app appuser build builder circleci ci claude claude-code codespace"
    b" coder codex container debian default demo dev developer docker gemini git gitpod guest"
    b" home jenkins jovyan linuxbrew me name nobody node nonroot oai openhands project public"
    b" root runner sandbox scratch share shared src steam test tester testuser travis ubuntu user"
    b" username users vagrant vscode work worker workspace you yourname your-name ec2-user"
    b" .. . ...".split()
)
"""Names of homes that are nobody's."""

_TLD: Final = (
    rb"(?:com|org|net|edu|gov|mil|io|dev|ai|co|me|info|app|xyz|tech|cloud|biz|de|fr|uk|jp|cn|in|ru|"
    rb"ca|au|eu|ch|nl|se|no|fi|pl|es|br|kr|tw|us|at|be|dk|cz|pt|gr|il|tr|ua|hk|sg|nz|za|mx|ar|it|"
    rb"ro|hu|ie|vn|sk|bg|hr|lt|lv|ee|lu|ae|eg|ng|ke|pk|bd|lk|cl|kz)"
)
_BELOW: Final = rb"(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}"
"""What a country has below it: of some, names in code end as they do."""
_MAIL: Final = late(
    rb"(?<![A-Za-z0-9._%+/-])([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@"
    rb"((?:[A-Za-z0-9-]{1,63}\.){1,5}(?:" + b"|".join((_TLD, _TLD.upper(), _BELOW))
    + rb"))(?![A-Za-z0-9_(-]|\.[A-Za-z0-9])"
)  # fmt: skip
_AUTHOR: Final = late(
    rb"<([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24})>"
)
"""One in angle brackets, as git has them, whatever its last part."""
_ESCAPE: Final = late(rb"\\(?:u[0-9A-Fa-f]{4}|[bfnrt])")
_NOBODY: Final = late(rb"(?i)(?:(?:.*\.)?git|no-?reply|notifications?|x+|user|you|name|me|foo|bar)")
_EXAMPLE: Final = late(
    rb"(?i)(?:.*\.)?(?:example|test|localhost|invalid|domain|email|company|anthropic|x+)"
    rb"\.(?:com|org|net|edu|io|dev|co)"
)
_BEYOND: Final = rb"\\{1,8}u(?!00[0-7])[0-9A-Fa-f]{4}"
"""A letter beyond ASCII, as JSON may have it."""
_SLASHES: Final = rb"(?:\\{8}(?=\\{4}u)|\\{4}(?=\\{2}u)|\\{2}(?=\\u)|\\{1,8}(?!\\))"
"""What Windows has between folders, in strings within strings; such a letter may follow."""
_HOME: Final = late(
    rb"(?:(?:(?<=/)|(?<=%2[Ff]))(?:home|Users)(?:\\{0,7}/|%2[Ff])|(?<=\\)(?:home|Users)" + _SLASHES
    + rb")((?:[A-Za-z0-9_\x80-\xff]|" + _BEYOND + rb")(?:[A-Za-z0-9_.\x80-\xff-]|" + _BEYOND
    + rb"){0,63})"
    rb"|(?:(?<=/-)|(?<=/--)|(?<=[A-Z]--)|(?<=\.cursor/projects/)|(?<=\.cursor/projects/[a-z]-))"
    rb"(?:home|Users)-([A-Za-z0-9_\x80-\xff]{1,64})(?=-)"
)  # fmt: skip
_HOMES: Final = (b"home", b"Users")
_MORE: Final = late(rb"(?:[ ][A-Z\x80-\xff][A-Za-z0-9_.\x80-\xff-]{0,31}){1,2}(?=[/\\])")
"""The other names of a person whose home has blanks in its name, up to what ends that."""
_IP: Final = late(
    rb"(?:(?<![A-Za-z0-9_.+~^-])|" + ESCAPED + rb")((?:[0-9]{1,3}\.){3}[0-9]{1,3})"
    rb"(?![A-Za-z0-9_+~-]|\.[0-9])"
)
_IP6: Final = late(
    rb"(?<![0-9A-Fa-f:.])(2[0-9a-fA-F]{3}(?::[0-9a-fA-F]{0,4}){3,7})(?![0-9A-Za-z]|[:.][0-9A-Fa-f])"
)
_VERSION: Final = late(
    rb"(?i)(?:version|driver|cuda|cudnn|release|build|[A-Za-z]/|v|==|>=)[\s\"':=]{0,4}$"
)
_TOLD: Final = late(
    rb"(?i)(?:://|@|(?:\b|(?<=\\[nrt])|(?<=[0-9;\[]m))(?:[a-z]{1,20}_)?(?:ip|host|addr|address|from|ssh|ping|inet|server|peer|remote|listen|connect"
    rb"|client)[a-z_ ]{0,12}[\s\"':=(\[]{0,4})$"
)
_NAME: Final = rb"([A-Za-z][A-Za-z0-9.-]{2,62})"
_HOST: Final = late(
    AFTER + rb"(?:Linux " + _NAME + rb" [0-9]+\.[0-9]+\.[0-9]+[^\s]* #"
    rb"|Darwin " + _NAME + rb" [0-9.]{1,20} Darwin |node(?:name)?='" + _NAME
    + rb"', release='|Static hostname: " + _NAME + b")"
)  # fmt: skip
_HOSTS: Final = (b"Linux ", b"Darwin ", b"release='", b"hostname: ")
_PUBLIC: Final = frozenset({b"8.8.8.8", b"8.8.4.4", b"1.1.1.1", b"1.0.0.1", b"9.9.9.9"})

PERSONAL: Final = (
    Rule("home", "home folder of a person", must_not_happen=False,
         encoded=(b"/home/", b"/Users/")),
    Rule("email", "e-mail address", rb"[A-Za-z0-9_+%-]@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]",
         must_not_happen=False),
    # From the last digit of the first number on: what counts digits has states for each of them.
    Rule("ip", "IP address", rb"[0-9]\.[0-9]+\.[0-9]+\.[0-9]", must_not_happen=False),
    # What has fewer colons is the time of day.
    Rule("ip", "IP address", rb"[0-9a-fA-F]:[0-9a-fA-F]+:(?::|[0-9a-fA-F]+:[0-9a-fA-F]*:)",
         must_not_happen=False),
    *(Rule("host", "name of a machine", gate, must_not_happen=False)
      for gate in (rb"Linux [A-Za-z][A-Za-z0-9.-]+ [0-9]+\.[0-9]+\.", b" Darwin Kernel",
                   b"', release='", b"Static hostname: ")),
)  # fmt: skip

Found = tuple[int, int, str]


def found(data: bytes, start: int, end: int) -> Iterator[Found]:
    """Persons and machines that are named within a part of some bytes, but homes and addresses."""
    window = data[start:end]
    if b"@" in window:
        yield from _mails(data, start, end)
    if any(word in window for word in _HOSTS):
        for one in _HOST.finditer(data, start, end):
            group = one.lastindex or 1
            if not is_generic(one[group]) and one[group] != b"localhost":
                yield *one.span(group), "host"


def _mails(data: bytes, start: int, end: int) -> Iterator[Found]:
    for pattern in (_MAIL, _AUTHOR):
        for one in pattern.finditer(data, start, end):
            # The letter of an escape before it is no part of it, however often it is escaped.
            escape = _ESCAPE.match(data, max(0, one.start(1) - 1))
            first = max(one.start(1), escape.end()) if escape else one.start(1)
            name = data[first : one.end(1)]
            if not (_NOBODY.fullmatch(name) or _EXAMPLE.fullmatch(one[2])):
                yield first, one.end(2), "email"


def is_address(text: bytes) -> bool:
    """Whether a match of the automaton tells that an address may stand there."""
    return text[1:2] in (b".", b":") and not text.strip(b"0123456789.abcdefABCDEF:")


def begins(data: bytes, at: int, text: bytes) -> int:
    """Where the address begins of which a match of the automaton tells; -1 where there is none."""
    if text[1:2] == b".":
        return max(0, at - 2)
    # Public ones of version 6 begin with a 2; much else is written so.
    return at - 3 if at >= 3 and data[at - 3 : at - 2] == b"2" else -1


def addresses(data: bytes, start: int, end: int, *, private: bool) -> Iterator[Found]:
    """IP addresses within a part of some bytes; `private` adds those of networks inside."""
    for one in _IP.finditer(data, start, end):
        if _is_address(data, one, private=private):
            yield one.start(), one.end(), "ip"
    for one in _IP6.finditer(data, start, end):
        # A colon that ends a word is no part of it; two are the zeros at its end.
        text = one[1] if one[1].endswith(b"::") else one[1].removesuffix(b":")
        if _is_global(text):
            yield one.start(), one.start() + len(text), "ip"


def homes(data: bytes, start: int, end: int, past: Past) -> Iterator[Span]:
    """The names of the home folders of persons, in order; they need no automaton to be found.

    Whoever goes through them may go on further behind, at `past`.
    """
    # Most transcripts come from one system, and have one of the two.
    stand = [literal for literal in _HOMES if data.find(literal, start, end) >= 0]
    found = [_homes(data, literal, start, end, past) for literal in stand]
    return found[0] if len(found) == 1 else merge(*found, key=lambda span: span.start)


def _homes(data: bytes, literal: bytes, start: int, end: int, past: Past) -> Iterator[Span]:
    at = data.find(literal, start, end)
    while at >= 0:
        one = _HOME.match(data, at)
        # A harness names a folder by its whole path, whose slashes are hyphens then.
        group = 2 if one and one[2] is not None else 1
        name = one[group].rstrip(b".") if one else b""
        if one and not is_generic(name):
            form = Form.JSON if b"\\" in name else Form.SHAPE
            first = one.start(group)
            more = _MORE.match(data, one.end()) if group == 1 else None
            # Behind a slash nothing else ends it: a backslash there may begin an escape.
            ends = more is not None and data[first - 1] == data[more.end()]
            last = more.end() if more and ends else first + len(name)
            yield Span(first, last, "home", form)
        at = data.find(literal, max(at + 1, past.at), end)


@lru_cache(10_000)
def is_generic(name: bytes) -> bool:
    """Whether a name of a home is that of a role, or stands for a name."""
    plain = name.lower()
    return plain in GENERIC or set(plain) <= set(b"x") or len(plain) < 2


def _is_global(text: bytes) -> bool:
    try:
        return ipaddress.ip_address(text.decode()).is_global
    except ValueError:
        return False


def _is_address(data: bytes, one: re.Match[bytes], *, private: bool) -> bool:
    """Whether four numbers are an address that tells something, and no version."""
    text = one[1]
    before = data[max(0, one.start() - 40) : one.start()]
    if text in _PUBLIC or _VERSION.search(before):
        return False
    if not _is_global(text):
        return private and _is_inside(text)
    if _TOLD.search(before):
        return True
    if before.endswith(b"="):
        return False
    first, *rest = map(int, text.split(b"."))
    return first >= 20 and rest[1:] != [0, 0]


def _is_inside(text: bytes) -> bool:
    try:
        address = ipaddress.ip_address(text.decode())
    except ValueError:
        return False
    return address.is_private and not (address.is_loopback or address.is_unspecified)
