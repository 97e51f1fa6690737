"""Dumps of bytes, as `xxd` and `hexdump -C` show them: their lines read as the bytes.

A dump says each byte twice: as two digits, and as a letter at the end of its line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kbsite.late import late
from kbsite.model.redaction import Form
from kbsite.redaction.at_once import OVERLAP, READ

_TWO: Final = b"[0-9a-fA-F]{2}"
GATE: Final = b"0(?:: |  )" + _TWO + b" ?" + _TWO + b" " + _TWO + b" ?" + _TWO + b" " + _TWO
"""How a line goes on whose address is a multiple of sixteen, as the first one's is."""

_LINE: Final = late(
    b"[0-9a-fA-F]{4,16}(?:: (?P<hex>(?:" + _TWO + b"){1,8}(?: (?:" + _TWO + b"){1,8}){0,63}) {2,80}"
    b"|  (?P<spaced>" + _TWO + b"(?: {1,2}" + _TWO + rb"){0,63}) {2,60}\|)"
)
_PAIR: Final = late(_TWO)
_FIRST: Final = late(b"[0-9a-fA-F]{3,15}" + GATE)
_ENDS: Final = late(rb"\|?(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)[ \t+>-]{0,8}")
_REST: Final = late(rb"\\+(?:u[0-9a-fA-F]{4}|[^nr])|[^\\\r\n\"]+")
"""The pieces of a line's end of which nobody can say which byte each is."""
SHOWN: Final = bytes(old if 0x20 <= old < 0x7F else ord(".") for old in range(256))
"""A table of what stands for a byte at the end of a line."""
_DEEPEST: Final = 4
"""How often a dump may stand in strings of JSON."""


class Line(Struct, frozen=True):
    """A line of a dump."""

    first: int
    """Which of the bytes is its first."""
    digits: tuple[tuple[int, int], ...]
    """Where what says each byte begins and ends."""
    letters: tuple[int, ...]
    """Where the letter of each stands, and where the last one ends; empty where that is unknown."""
    rest: tuple[tuple[int, int], ...] = ()
    """What stands there then."""

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where some of the bytes stand, as far as they do in this line."""
        start, end = max(0, start - self.first), min(len(self.digits), end - self.first)
        if start < end:
            yield self.digits[start][0], self.digits[end - 1][1]
            yield from [(self.letters[start], self.letters[end])] if self.letters else self.rest


class Dump(Struct, frozen=True):
    """Lines of a dump, read as the bytes that they show."""

    data: bytes
    lines: tuple[Line, ...]
    start: int
    end: int
    form: Form = Form.SHAPE

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where a part of the bytes stands."""
        at = bisect_right(self.lines, start, key=lambda line: line.first) - 1
        for line in self.lines[max(0, at) :]:
            if line.first >= end:
                return
            yield from line.places(start, end)


def tells(text: bytes) -> bool:
    """Whether a match of the automaton is of a dump."""
    return text[:1] == b"0" and text[1:3] in (b": ", b"  ")


def dump(data: bytes, at: int, *, goes_on: bool) -> Dump | None:
    """The dump of which a line stands at a place; None where it is none.

    Unless it goes on from one that was read, what stands before is read too: the place may be
    where somebody began to look.
    """
    before = max(0, at - (16 if goes_on else OVERLAP))
    while first := _FIRST.search(data, before, at + 20):
        found = _lines(data, first.start())
        if found and found.end > at:
            return found
        before = max(first.start() + 1, found.end if found else 0)
    return None


def _lines(data: bytes, at: int) -> Dump | None:
    held, lines, start, most = bytearray(), list[Line](), at, at + READ
    while at < most and (one := _LINE.match(data, at)):
        group = "hex" if one["hex"] else "spaced"
        pairs = [pair.span() for pair in _PAIR.finditer(data, *one.span(group))]
        shown = bytes.fromhex(one[group].decode())
        text = shown.translate(SHOWN)
        # What a line of xxd ends in is not framed: it may begin with blanks.
        blanks = len(text) - len(text.lstrip(b" ")) if one["hex"] else 0
        letters, rest, end = shown_as(data, one.end() - blanks, text)
        lines.append(Line(len(held), tuple(pairs), letters, rest))
        held += shown
        at = end
        ends = _ENDS.match(data, at)
        if not ends:
            break
        at = ends.end()
    return Dump(bytes(held), tuple(lines), start, at) if lines else None


def shown_as(
    data: bytes, at: int, text: bytes
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], int]:
    """Where the letter of each byte stands, or else the rest of the line, and where that ends."""
    depth = _DEEPEST if b'"' in text or b"\\" in text else 1
    for deep in range(depth):
        written = text
        for _ in range(deep):
            written = written.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        if data.startswith(written, at):
            sizes = {ord('"'): 1 << deep, ord("\\"): 1 << deep}
            places = [at]
            for byte in text:
                places.append(places[-1] + sizes.get(byte, 1))
            return tuple(places), (), places[-1]
    rest, end = [], at
    while (one := _REST.match(data, end)) and end < at + 1000:
        if not one[0].startswith(b"\\"):
            rest.append(one.span())
        end = one.end()
    return (), tuple(rest), end
