"""What looking closely may cost, and what is hidden unseen where that is spent.

Text can be made to fit the rules everywhere: then looking closely at each place takes a hundred
times as long as at a transcript. So there is a budget for it; where it is spent, a stretch is
hidden as it stands, and nothing of it has to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from kbsite.model.redaction import Span

FREE: Final = 4000
"""Units that looking at some bytes may cost, however few they are."""

EACH: Final = 320
"""Bytes for each further unit. Of real transcripts the densest has 700."""

CHEAP: Final = 32
"""Bytes for each of what costs next to nothing to find: homes, and values that are known.

A line of `ls -l` has an owner and a group, and fifty bytes."""

READ: Final = 2048
"""Bytes that one pattern of the standard library looks at while one match is dealt with."""

LEAST: Final = 8192
"""Bytes that are hidden at once, at least."""

AROUND: Final = 256
"""Bytes before a place in which something may have begun that is told by what stands there."""

AGAIN: Final = 32
"""Bytes of a stretch that are looked at nevertheless: the name of a value that stands behind it."""

_KEY: Final = b"PRIVATE KEY"
_KEY_BLOCK: Final = 12_100
"""Bytes behind the first line of a private key that are its own."""

_REST: Final = re.compile(rb"[^\"\\\n]*+(?:\\[^\n][^\"\\\n]*+)*+")
"""What goes on to the end of a string of JSON, or of a line."""


class Effort(Struct):
    """What looking closely has cost, from one place on."""

    start: int
    spent: float = 0.0
    """In units: a match of the automaton, or something found; at most some forty microseconds."""

    def read(self, size: int) -> None:
        """Some bytes were looked at by a pattern of the standard library."""
        self.spent += size / READ

    def is_spent(self, at: int) -> bool:
        """Whether nothing is left at a place."""
        return self.spent > FREE + (at - self.start) / EACH


class Past(Struct):
    """Where whoever goes through some bytes goes on."""

    at: int = 0


Look = Callable[[bytes, int, int, Past], Iterable[Span]]
"""What finds something in a part of some bytes, in order."""


def bounded(
    look: Look, data: bytes, start: int, end: int, crowded: list[tuple[int, int]]
) -> Iterator[Span]:
    """What is found in some bytes, but where there is so much that it is hidden as it stands."""
    past, hidden, number = Past(), start, 0
    for span in look(data, start, end, past):
        if span.start >= hidden:
            number += 1
            if number > FREE + (span.start - start) / CHEAP:
                crowded.append(stretch(data, span.start, end))
                hidden = crowded[-1][1]
                # What begins in a stretch may go on behind it.
                past.at = max(span.start + 1, hidden - AROUND)
                continue
        yield span


def stretch(data: bytes, at: int, end: int) -> tuple[int, int]:
    """What is hidden unseen where the budget was spent at a place: to the end of a string or line.

    As far as `end`. What begins within it is no longer than it.
    """
    first, until = _opened(data, at), _closed(data, at + LEAST)
    seen = first
    while (key := data.rfind(_KEY, seen, until)) >= 0:
        seen, until = until, max(until, _closed(data, key + _KEY_BLOCK))
    return first, min(until, end)


def _opened(data: bytes, at: int) -> int:
    """Where what is told by what stands at a place may have begun: within its string or line."""
    first = max(0, at - AROUND)
    quote = data.rfind(b'"', first, at)
    while quote > first and data[quote - 1 : quote] == b"\\":
        quote = data.rfind(b'"', first, quote)
    return max(first, quote + 1, data.rfind(b"\n", first, at) + 1)


def _closed(data: bytes, at: int) -> int:
    """Where the string or line ends that a place lies in."""
    before = data[max(0, at - AROUND) : at]
    escaped = (len(before) - len(before.rstrip(b"\\"))) % 2
    rest = _REST.match(data, at + escaped)
    return rest.end() if rest else len(data)
