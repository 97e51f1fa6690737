"""What is hidden whole of a file where a stretch of it is too full of what rules find.

Of JSON the strings that the stretch touches, so that it stays JSON; of a text its lines. Where even
the strings are too many, or stand in no JSON, a whole line becomes one string.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from typing import Final

from msgspec import Struct, field

from kbsite.model.redaction import Form, Span
from kbsite.redaction.titles import CROWDED
from kbsite.store.files import Stored

MOST: Final = 2000
"""Strings that are hidden one by one in a file."""

Stretch = tuple[int, int]

_STRING: Final = re.compile(rb"\"[^\"\\\n]*+(?:\\[^\n][^\"\\\n]*+)*+(?:\"|\n|\Z)")
_ROOM: Final = re.compile(rb"[^\r\n]{2,}+")
"""A line in which a string has room."""

_OUTSIDE: Final = re.compile(
    rb"(?:[\s,:\[\]{}]++|(?:true|false|null|-?[0-9]{1,20}+(?:\.[0-9]{1,20}+)?(?:[eE][+-]?[0-9]{1,4}+)?)"
    rb"(?![0-9A-Za-z_.+-])|(?!))*+"  # |(?!): CONTRIBUTING.md, patterns
)
"""What stands in JSON that is no string, and so no secret."""


class _NoJsonError(Exception):
    """Strings that cannot be hidden one by one."""


class _Lines(Struct):
    """Lines that crowded stretches touch, and the stretches."""

    start: int
    end: int
    stretches: list[Stretch] = field(default_factory=list)


def widened(file: Stored, stretches: Sequence[Stretch]) -> list[Span]:
    """What is hidden whole of a file that is crowded in some stretches, in order."""
    with file.stream() as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        if not re.match(rb"\s{0,99}[\[{]", data):
            return [Span(one.start, one.end, CROWDED) for one in _lines(data, stretches)]
        spans: list[Span] = []
        for one in _lines(data, stretches):
            try:
                spans += _strings(data, one, MOST - len(spans))
            except _NoJsonError:
                if not _holds_lines(data):
                    return _whole(data, 0, len(data))
                spans += _whole(data, one.start, one.end)
        return spans


def over(spans: Sequence[Span], whole: Sequence[Span]) -> list[Span]:
    """Spans in order, and instead of them what is hidden whole where they overlap."""
    kept, ends = list(whole), [one.end for one in whole]
    for span in spans:
        start, number = span.start, bisect_right(ends, span.start)
        while start < span.end:
            end = min(span.end, whole[number].start) if number < len(whole) else span.end
            if start < end:
                kept.append(span._replace(start=start, end=end))
            start = ends[number] if number < len(whole) else span.end
            number += 1
    return sorted(kept, key=lambda one: one.start)


def _lines(data: mmap, stretches: Sequence[Stretch]) -> Iterator[_Lines]:
    held: _Lines | None = None
    for start, end in sorted(stretches):
        if held and start <= held.end:
            held.stretches.append((start, end))
            if end > held.end:
                held.end = _line_end(data, end)
            continue
        if held:
            yield held
        held = _Lines(data.rfind(b"\n", 0, start) + 1, _line_end(data, end), [(start, end)])
    if held:
        yield held


def _line_end(data: mmap, at: int) -> int:
    end = data.find(b"\n", max(0, at - 1))
    end = len(data) if end < 0 else end
    return end - (data[end - 1 : end] == b"\r")


def _strings(data: mmap, lines: _Lines, most: int) -> list[Span]:
    """The strings that are hidden of some lines; _NoJsonError where that is not enough."""
    spans: list[Span] = []
    past, stretches = lines.start, _Stretches(lines.stretches)
    for one in _STRING.finditer(data, lines.start, lines.end):
        start, end = one.span()
        if stretches.touch(past, start) and not _OUTSIDE.fullmatch(data, past, start):
            raise _NoJsonError
        past = end
        if stretches.touch(start, end) and end - start > 2:
            if data[end - 1 : end] != b'"' or len(spans) >= most:
                raise _NoJsonError
            spans.append(Span(start + 1, end - 1, CROWDED))
    if not _OUTSIDE.fullmatch(data, past, lines.end):
        raise _NoJsonError
    return spans


class _Stretches:
    """Stretches in order, asked for where they are."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._starts = [start for start, _ in stretches]
        # One that ends behind a later one goes on as long.
        self._ends = list(accumulate((end for _, end in stretches), max))

    def touch(self, start: int, end: int) -> bool:
        """Whether one of them lies at least partly between two places."""
        number = bisect_right(self._ends, start)
        return number < len(self._starts) and self._starts[number] < end


def _holds_lines(data: mmap) -> bool:
    """Whether each line of a file is JSON of its own, as far as its first one tells."""
    return data[: _line_end(data, 1)].rstrip().endswith((b"}", b"]"))


def _whole(data: mmap, start: int, end: int) -> list[Span]:
    """A line as a string, and what stands on others as blanks."""
    one = _ROOM.search(data, start, end)
    first, last = one.span() if one else (end, end)
    forms = ((start, first, Form.BLANK), (first, last, Form.STRING), (last, end, Form.BLANK))
    return [Span(at, until, CROWDED, form) for at, until, form in forms if at < until]
