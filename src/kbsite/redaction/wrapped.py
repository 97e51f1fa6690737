"""Digits that go on over several lines, as `base64` and `xxd -p` print a file: read as its bytes.

A line may end as text does, or in the escapes of JSON; a tool may have numbered the lines, or moved
them to the right.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from kbsite.late import late
from kbsite.model.redaction import Form
from kbsite.redaction.at_once import OVERLAP, READ
from kbsite.redaction.crowded import Past

LEAST: Final = 60
"""Digits of a whole line, at least: `xxd -p` has as many, `openssl base64` 64, `base64` 76."""

MOST: Final = 2048
"""Digits of a line, at most."""

BREAK: Final = rb"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)"
"""The end of a line, as it is or as JSON writes it."""

_DIGIT: Final = rb"[A-Za-z0-9+/_-]"

_DIGITS: Final = bytes(byte for byte in range(128) if chr(byte).isalnum()) + b"+/_-"
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_BEGINS: Final = late(
    BREAK + rb"[ \t>|]{0,16}(?:[0-9]{1,6}(?:\t|\\{1,4}t|:|\xe2\x86\x92|\\{1,4}u2192))?"
)
"""The end of a line, and what a tool writes before the next."""
_LINE: Final = late(b"(" + _DIGIT + b"{1,%d}" % (MOST + 1) + rb")(?==?=?(?:[\s\\\"'`<]|\Z))")
_IS_HEX: Final = late(rb"[0-9A-Fa-f]+")
_ESCAPED: Final = late(rb"u[0-9A-Fa-f]{4}|[nrt]")
"""What reads as digits behind a backslash, and is none."""
_SIGNS: Final = (b"+", b"-")
"""What a diff writes before a line."""
_FEWEST: Final = 8
"""Digits that differ, at least: a line of hyphens says nothing."""

_KINDS: Final = bytes(
    ord("a" if byte in _DIGITS else "b" if byte in b"\\\r\n" else ".") for byte in range(256)
)
"""What a byte is: a digit, the begin of the end of a line, or neither."""
_WHOLE: Final = b"a" * LEAST + b"b"
_BREAK: Final = late(BREAK)


class Wrapped(Struct, frozen=True):
    """Lines of digits, read as the bytes that they stand for."""

    form: Form
    data: bytes
    lines: tuple[tuple[int, int], ...]
    """Where each begins and ends."""
    before: tuple[int, ...]
    """How many digits stand before each."""

    @property
    def start(self) -> int:
        """Where the first line begins."""
        return self.lines[0][0]

    @property
    def end(self) -> int:
        """Where the last line ends."""
        return self.lines[-1][1]

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where a part of the bytes is written: in each line, what of it stands there."""
        if self.form is Form.HEX:
            first, last = 2 * start, 2 * end
        else:
            first, last = start * 8 // 6, -(-end * 8 // 6)
        for number in range(bisect_right(self.before, first) - 1, len(self.lines)):
            begin, close = self.lines[number]
            begin, close = (
                begin + max(0, first - self.before[number]),
                min(close, begin + last - self.before[number]),
            )
            if begin >= close:
                return
            yield begin, close


def wrapped(data: bytes, start: int, end: int, past: Past) -> Iterator[Wrapped]:
    """Lines of digits in a part of some bytes, in order.

    Whoever goes through them may go on further behind, at `past`.
    """
    for at in _ends(data, start, end, past):
        lines = _lines(data, *_first(data, at))
        if len(lines) < 2:
            continue
        goes_on = lines[-1][1] - lines[0][0] >= READ
        past.at = max(past.at, lines[-1][1] - (OVERLAP if goes_on else 0))
        if found := _read(data, lines):
            yield found


def _ends(data: bytes, start: int, end: int, past: Past) -> Iterator[int]:
    """Where the digits of whole lines end."""
    kinds = data[start:end].translate(_KINDS)
    at = kinds.find(_WHOLE)
    while at >= 0:
        close = start + at + LEAST
        if _BREAK.match(data, close, end):
            yield close
        at = kinds.find(_WHOLE, max(at + LEAST, past.at - start))


def _read(data: bytes, lines: Sequence[tuple[int, int]]) -> Wrapped | None:
    """What some lines of digits say; None where they say nothing."""
    digits = b"".join(data[first:last] for first, last in lines)
    if len(set(digits)) < _FEWEST:
        return None
    sizes = accumulate((last - first for first, last in lines[:-1]), initial=0)
    before = tuple(sizes)
    if _IS_HEX.fullmatch(digits):
        held = bytes.fromhex(digits[: len(digits) // 2 * 2].decode("ascii"))
        return Wrapped(Form.HEX, held, tuple(lines), before)
    digits = digits.translate(_STANDARD)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    held = base64.b64decode(digits + b"=" * (-len(digits) % 4))
    return Wrapped(Form.BASE64, held, tuple(lines), before)


def _first(data: bytes, end: int) -> tuple[int, int]:
    """Where the digits that end at a place begin, and where they end."""
    least = max(0, end - MOST)
    start = least + len(data[least:end].rstrip(_DIGITS))
    if data[start - 1 : start] == b"\\" and (escape := _ESCAPED.match(data, start, end)):
        start = escape.end()
    return start, end


def _lines(data: bytes, start: int, end: int) -> Sequence[tuple[int, int]]:
    """The lines of which the first stands there: those behind it are as long, but for the last."""
    rest = _rest(data, end, start + READ)
    if not rest:
        return ()
    first, second = end - start, rest[0][1] - rest[0][0]
    if first > second and (len(rest) == 1 or rest[1][1] - rest[1][0] != second):
        # The second is the last one.
        own, rest = first - first % 4, rest[:1]
        if data[start : start + 1] in _SIGNS and first % 4 == 1 and data[rest[0][0]] in b"+-":
            rest = [(rest[0][0] + 1, rest[0][1])]
        return [(end - own, end), *rest]
    # What stands before the digits of the first may read as some; or it is only the end of one.
    own = second if first >= second else first - first % 4
    return [(end - own, end), *rest]


def _rest(data: bytes, at: int, most: int) -> list[tuple[int, int]]:
    """The lines behind one that ends at a place, up to the first that is not as long as others."""
    lines: list[tuple[int, int]] = []
    signed = False
    while at < most and (begins := _BEGINS.match(data, at)):
        line = _LINE.match(data, begins.end())
        if line is None:
            break
        start, at = line.span(1)
        if not lines:
            signed = line[1][:1] in _SIGNS and len(line[1]) % 4 == 1 and len(line[1]) > LEAST
        start += signed and line[1][:1] in _SIGNS
        if lines and at - start > lines[0][1] - lines[0][0]:
            break
        lines.append((start, at))
        if at - start < lines[0][1] - lines[0][0]:
            break
    return lines
