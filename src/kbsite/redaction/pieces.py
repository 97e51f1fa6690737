"""Texts that are printed in pieces, a line of JSON each: read as what the pieces say together.

A model says a token in several pieces, and a command prints it so. Whoever reads the stream, a page
say, puts them together: by the call that they belong to, where a line names one, across what else
is told meanwhile; else as they follow each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from kbsite.late import late
from kbsite.model.redaction import Form
from kbsite.redaction.at_once import OVERLAP, READ
from kbsite.redaction.crowded import Past

GATES: Final = (b'delta"', b'"timestamp_ms":', b'shell_output"', b'"arguments_part":')
"""What such a line says of itself: that it is a piece, or to the millisecond when it came."""

HEADS: Final = (*GATES, b'"ToolCall"')
"""What it says that pieces go on from."""

BEFORE: Final = 8192
"""Bytes before a line in which those stand that it goes on from, if nobody read them yet."""

LONGEST: Final = 65_536
"""Bytes of a line, at most."""

AWAY: Final = 64
"""Lines that may stand between two pieces of one call, each of at most SHORT bytes."""

SHORT: Final = 4096

_TEXT: Final = late(
    rb"\"(?:text|content|delta|thinking|partial_json|deltaContent|inputDelta|arguments(?:_part)?)"
    rb"\": ?\""
    rb"((?:[^\"\\\r\n]++|\\[^\r\n])*+)\""
)


_OF: Final = (b'"toolCallId":', b'"partID":')
"""What stands before the call or part that a piece is of."""
_LONGEST_ID: Final = 200


class Pieces(Struct, frozen=True):
    """Pieces of a text, read as one."""

    data: bytes
    starts: tuple[int, ...]
    """Where each piece begins."""
    before: tuple[int, ...]
    """How many bytes stand before each."""
    start: int
    """Where the first line begins."""
    end: int
    """Where the line begins behind the last one."""
    weight: int
    """Bytes of its lines, between which those of others may stand."""
    form: Form | None = None
    """They say what stands there, and nothing else."""

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where a part of the text stands: in each piece, what of it is there."""
        for number in range(bisect_right(self.before, start) - 1, len(self.starts)):
            first = max(start, self.before[number])
            last = min(end, self._end(number))
            if first >= end:
                return
            if first < last:
                away = self.starts[number] - self.before[number]
                yield first + away, last + away

    def _end(self, number: int) -> int:
        """How many bytes stand before the piece behind one."""
        return self.before[number + 1] if number + 1 < len(self.before) else len(self.data)


def tells(text: bytes) -> bool:
    """Whether a match of the automaton is of a piece."""
    return text in GATES


def pieces(data: bytes, at: int, *, goes_on: bool) -> Iterator[Pieces]:
    """The text of which a piece stands at a place, in parts that overlap.

    Unless it goes on from one that was read, what stands before is read too: the place may be
    where somebody began to look.
    """
    again = _begin(data, at)
    if again >= 0 and not goes_on:
        again = _first(data, again)
    while again >= 0:
        held, again = _read(data, again)
        yield from held


def all_pieces(data: bytes, start: int, end: int, past: Past) -> Iterator[Pieces]:
    """Texts of at least two pieces in a part of some bytes, in order.

    Whoever goes through them may go on further behind, at `past`.
    """
    at = _next(data, start, end)
    while at >= 0:
        until = at + 1
        for held in pieces(data, at, goes_on=False):
            until = max(until, held.end)
            if len(held.starts) > 1:
                yield held
            if past.at > held.end:
                break
        at = _next(data, max(until, past.at), end)


def _next(data: bytes, start: int, end: int) -> int:
    """Where the next line says that it is a piece; -1 where none does."""
    found = (data.find(gate, start, end) for gate in GATES)
    return min((at for at in found if at >= 0), default=-1)


def _begin(data: bytes, at: int) -> int:
    """Where the line begins in which a place is; -1 where that is too far away."""
    first = max(0, at - LONGEST // 16)
    start = data.rfind(b"\n", first, at) + 1
    return start if start or not first else -1


def _first(data: bytes, start: int) -> int:
    """Where the first of the lines begins that one goes on from."""
    least, at, away = max(0, start - BEFORE), start, 0
    named = _of(data, start, data.find(b"\n", start, start + LONGEST))
    while at > least and away <= AWAY:
        at = _begin(data, at - 1)
        if at < 0:
            break
        if _piece(data, at) is not None:
            start, away = at, 0
        elif named:
            away += 1
        else:
            break
    return start


def _of(data: bytes, start: int, end: int) -> bytes:
    """Which call or part a line is of; empty where it does not say so."""
    for name in _OF:
        at = data.find(name, start, end) if end >= 0 else -1
        if at >= 0:
            first = data.find(b'"', at + len(name), end) + 1
            last = data.find(b'"', first, min(end, first + _LONGEST_ID)) if first else -1
            return data[first:last] if last > first else b""
    return b""


class _Text(Struct):
    """The pieces of one text, while they are read."""

    start: int
    starts: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    held: list[bytes] = field(default_factory=list)
    size: int = 0
    end: int = 0
    weight: int = 0

    def add(self, data: bytes, at: int, piece: tuple[int, int, int]) -> int:
        """Take in the next piece, of a line; how long it is."""
        first, last, until = piece
        self.starts.append(first)
        self.before.append(self.size)
        self.held.append(data[first:last])
        self.size += last - first
        self.weight += until - at
        self.end = until + 1
        return last - first

    def whole(self) -> Pieces:
        """All pieces that came."""
        held, starts, before = b"".join(self.held), tuple(self.starts), tuple(self.before)
        return Pieces(held, starts, before, self.start, self.end, self.weight)


def _read(data: bytes, start: int) -> tuple[list[Pieces], int]:
    """The pieces from a line on, by what they are of, and where what goes on begins.

    That is -1 where nothing does.
    """
    texts, size, at, again, named = dict[bytes, _Text](), 0, start, -1, False
    while size < READ:
        found = _next_piece(data, at, AWAY if named else 0)
        if found is None:
            break
        begin, piece = found
        of = _of(data, begin, piece[2])
        if begin > at and not of:
            break  # it goes on from nothing
        if again < 0 and size >= READ - OVERLAP:
            again = begin
        named = named or bool(of)
        size += texts.setdefault(of, _Text(begin)).add(data, begin, piece)
        at = piece[2] + 1
    parts = [text.whole() for text in texts.values()]
    return parts or [_Text(start, end=start).whole()], again if size >= READ else -1


def _next_piece(data: bytes, at: int, away: int) -> tuple[int, tuple[int, int, int]] | None:
    """The line of the next piece, and that: behind so many other lines at most."""
    for _ in range(away + 1):
        piece = _piece(data, at)
        if piece is not None:
            return at, piece
        at = _next_line(data, at)
        if at < 0:
            break
    return None


def _next_line(data: bytes, at: int) -> int:
    """Where the line behind one begins; -1 where there is none, or it is too far away."""
    end = data.find(b"\n", at, at + SHORT)
    return end + 1 if 0 <= end < len(data) - 1 else -1


def _piece(data: bytes, start: int) -> tuple[int, int, int] | None:
    """Where the text of a line begins and ends, and where the line ends; None for no piece."""
    if not data.startswith(b"{", start):
        return None
    end = data.find(b"\n", start, start + LONGEST)
    end = min(len(data), start + LONGEST) if end < 0 else end
    if all(data.find(gate, start, end) < 0 for gate in HEADS):
        return None
    one = _TEXT.search(data, start, end)
    return (*one.span(1), end) if one else None
