"""Secrets of headers and addresses: tokens of who asks, passwords before a host, cookies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction import commands
from kbsite.redaction.rules import AFTER, Rule
from kbsite.redaction.values import is_key_in_hex, is_placeholder, is_random

_ESCAPES: Final = rb"\\{0,7}"
_BEARER: Final = late(
    rb"(?i)(?:authorization" + _ESCAPES + rb"[\"'`]?\s{0,3}[:=]\s{0,3}" + _ESCAPES +
    rb"[\"'`]?(?:(?:bearer|basic|token|api-?key|key|ssws)\s{1,3}|(?=[A-Za-z0-9+/=_.~-]{24}))|"
    + AFTER + rb"bearer\s{1,3})([A-Za-z0-9+/=_.~-]{12,}(?::[0-9a-f]{32})?)"
)  # fmt: skip
_USER: Final = late(rb"://([A-Za-z0-9_-]{20,255})(?::(?:x-oauth-basic)?)?@[A-Za-z0-9\[]")
_ADDRESS: Final = late(
    rb"://[^\s/\\:@\"'<>?#\[\]{}$]{0,100}:([^\s/\\@\"'<>?\[\]{}$][^\s/\\\"'<>?\[\]{}]{2,500})"
    rb"@[A-Za-z0-9\[]"
)
_COOKIE: Final = late(
    b"(?i)" + AFTER + rb"(?:(?:set-)?cookie" + _ESCAPES + rb"[\"'`]?\s{0,3}[:=]|--cookie|-b)\s{0,3}"
    rb"(?:" + _ESCAPES + rb"[\"'`])?(?=[^\r\n])"
)
_COOKIE_END: Final = late(rb"[\r\n\"'`]")
LONGEST_COOKIE: Final = 2000
"""Bytes of a header in which something is hidden."""
_CRUMB: Final = late(rb"[A-Za-z0-9_.-]{1,60}=([A-Za-z0-9+/_.~%-]{8,500})=*")

HEADERS: Final = (
    Rule(
        "bearer", "token of a header",
        rb"(?i:bearer |authorization\\{0,7}[\"'`]?[ ]{0,3}[:=])", pattern=_BEARER,
    ),
    Rule(
        "address-password", "password in an address",
        rb"://[^ \t\r\n/\\:@\"'<>?#]*:[^ \t\r\n/\\@\"'<>?]+@", pattern=_ADDRESS,
    ),
    Rule(
        "cookie", "cookie",
        rb"(?i:cookie\\{0,7}[\"'`]?[ ]{0,3}:|(?:--cookie|-b) \\{0,7}[\"'`][A-Za-z0-9_.-]+=)",
        pattern=_COOKIE,
    ),
    Rule("address-password", "password in an address", rb"://[A-Za-z0-9_-]{20,}:?@"),
)  # fmt: skip

Found = tuple[int, int, str]


def _bearers(data: bytes, start: int, end: int) -> Iterator[Found]:
    for one in _BEARER.finditer(data, start, end):
        if is_random(one[1], 3.0) or commands.is_pair(one[1]):
            yield one.start(1), one.end(1), "bearer"


def _addresses(data: bytes, start: int, end: int) -> Iterator[Found]:
    for one in _ADDRESS.finditer(data, start, end):
        if not is_placeholder(one[1]) and b"(" not in one[1]:
            yield one.start(1), one.end(1), "address-password"
    for one in _USER.finditer(data, start, end):
        if is_random(one[1], 3.0) or is_key_in_hex(one[1]):
            yield one.start(1), one.end(1), "address-password"


def _cookies(data: bytes, start: int, end: int) -> Iterator[Found]:
    past = closed = start
    for one in _COOKIE.finditer(data, start, end):
        first, most = one.end(), min(len(data), one.end() + LONGEST_COOKIE)
        if closed <= first:
            ends = _COOKIE_END.search(data, first, most)
            closed = ends.start() if ends else most
        elif closed == past and closed < most and not _COOKIE_END.match(data, closed):
            ends = _COOKIE_END.search(data, closed, most)
            closed = ends.start() if ends else most
        # What begins before the end is hidden whole: nothing of it is an end.
        for crumb in _CRUMB.finditer(data, max(first, past), min(len(data), closed + 600)):
            if crumb.start() >= closed:
                break
            past = crumb.end()
            if not is_placeholder(crumb[1]) and len(set(crumb[1])) > 6:
                yield crumb.start(1), crumb.end(1), "cookie"
        past = max(past, closed)


LOOKS: Final = (
    ((b"bearer", b"authorization"), _bearers),
    ((b"://",), _addresses),
    ((b"cookie", b"-b "), _cookies),
)
"""What is looked for only where one of some words stands, in small letters."""
