"""Private keys, which stand in several lines between two that frame them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import Rule

_BLOCK: Final = late(
    rb"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]{1,3}"
)
_TAIL: Final = late(rb"-----END [A-Z0-9 ]{0,30}PRIVATE KEY")
_BREAK: Final = late(rb"(?:[\s>+|\"',$]|\^M|\\{1,4}[nr\"]|[0-9]{1,6}(?:\t|\\{1,4}t)){1,24}")
"""What stands between two lines of a private key."""
_BLOCK_END: Final = late(rb"-----END |Private-MAC")
_LINE: Final = late(rb"[A-Za-z0-9+/=]{4,}")
LONGEST_BLOCK: Final = 12_000
"""Bytes of a private key, escapes included: one of 8192 bits is shorter."""

BLOCKS: Final = (
    Rule("private-key", "private key", rb"Private-Lines: ", pattern=_BLOCK),
    Rule(
        "private-key", "private key", rb"-----(?:BEGIN|END) [A-Z0-9 ]*PRIVATE KEY", pattern=_BLOCK,
        encoded=(b"-----BEGIN PRIVATE", b"-----BEGIN RSA PRIV", b"-----BEGIN OPENSSH PRIV",
                 b"-----BEGIN EC PRIV"),
    ),
)  # fmt: skip

Found = tuple[int, int, str]


def _blocks(data: bytes, start: int, end: int) -> Iterator[Found]:
    for one in _BLOCK.finditer(data, start, end):
        yield from _block(data, one.end())
    for one in _TAIL.finditer(data, start, end):
        yield from _tail(data, one.start())


def _tail(data: bytes, end: int) -> Iterator[Found]:
    """The last lines of a private key, of which a program showed no more."""
    first = max(data.rfind(b"-----", 0, end), end - LONGEST_BLOCK, 0)
    below = end
    for one in reversed([*_LINE.finditer(data, first, end)]):
        start = one.start() + (data[one.start() - 1 : one.start()] == b"\\")
        long = one.end() - start >= 24 or below == end
        if not (long and _BREAK.fullmatch(data, one.end(), below)):
            return
        yield start, one.end(), "private-key"
        below = start


def _block(data: bytes, start: int) -> Iterator[Found]:
    """The lines of a private key, whose ends may be escaped, without those that frame it."""
    most = min(len(data), start + LONGEST_BLOCK)
    again = _BLOCK.search(data, start, most)
    most = again.start() if again else most
    closed = _BLOCK_END.search(data, start, most)
    for one in _LINE.finditer(data, start, closed.start() if closed else most):
        first = one.start()
        # An escaped line end is no part of the line: its letter is not hidden.
        first += first > start and data[first - 1 : first] == b"\\"
        if one.end() - first >= 4 and (closed or one.end() - first >= 24):
            yield first, one.end(), "private-key"


LOOKS: Final = (((b"private key", b"private-lines"), _blocks),)
"""What is looked for only where one of some words stands, in small letters."""
