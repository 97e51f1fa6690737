"""Many patterns looked for at once, at the speed of one, by RE2. The only module that knows it.

The standard library looks for one after the other, which takes twenty times as long.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import re2

from kbsite.redaction.prefilter import Numbers, Parts, Prefilter, prefilter

Found = Callable[[bytes, int, int], tuple[int, int]]
"""Where the first match within a part of some bytes begins and ends; twice -1 where none stands."""

_MANY: Final = 16
"""Patterns of a part, at most, that are looked for apart from the others."""
_KEPT: Final = 256
"""Such choices of patterns that are kept: a run of tens of megabytes has some dozens."""

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.max_mem = 128 << 20
_OPTIONS.never_capture = True


class Automaton:
    """Looks for any of some patterns; each byte is looked at once, whatever they are."""

    def __init__(
        self,
        patterns: Iterable[bytes],
        literals: Iterable[bytes] = (),
        *,
        prefiltered: bool = False,
    ) -> None:
        # Of literals that begin alike, the longest is found. They stand beside each other, so that
        # RE2 makes one of their beginnings; else its states take twice as long to make.
        own, plain = [*patterns], [*map(re2.escape, sorted(literals, reverse=True))]
        self._pieces = [*(b"(?:" + pattern + b")" for pattern in own), *plain]
        self._prefilter: Prefilter | None = prefilter([*own, *plain]) if prefiltered else None
        self._some: dict[Numbers, Found] = {}

    @cached_property
    def _whole(self) -> Found:
        """Looks for all of them: not made where Hyperscan says each time which may stand there."""
        return _found_of(self._pieces)

    def _some_of(self, numbers: Numbers | None) -> Found:
        """Looks for some of them, by their places: RE2 makes states for no more than these."""
        if numbers is None or len(numbers) > _MANY:
            return self._whole
        found = self._some.get(numbers)
        if found is None:
            if len(self._some) >= _KEPT:
                return self._whole
            found = self._some[numbers] = _found_of([self._pieces[one] for one in numbers])
        return found

    def find(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Where one of them stands within a part of some bytes, and what stands there."""
        start, end = max(0, start), min(end, len(data))
        while start < end:
            at, until = self._whole(data, start, end)
            if at < 0:
                return
            yield at, data[at:until]
            start = until + (until == at)

    def next(
        self, data: bytes, start: int, end: int, numbers: Numbers | None = None
    ) -> tuple[int, bytes] | None:
        """Where the first of them begins within a part of some bytes, and what stands there.

        With `numbers`, of those alone.
        """
        at, until = self._some_of(numbers)(data, start, end)
        return None if at < 0 else (at, data[at:until])

    def walk(self, data: bytes, start: int, end: int) -> Walk:
        """All of them within a part of some bytes, one after the other."""
        prefilter = self._prefilter
        parts = prefilter.parts(data, start, end) if prefilter else [(start, end, None)]
        return Walk(self, data, parts)

    def first(self, data: bytes, start: int, end: int) -> int:
        """Where the first of them begins within a part of some bytes; -1 where none stands."""
        return self._whole(data, start, end)[0]

    def stands_in(self, data: bytes) -> bool:
        """Whether one of them stands there."""
        return self._whole(data, 0, len(data))[0] >= 0


class Walk:
    """Matches of an automaton, looked for in those parts of some bytes that may hold any."""

    def __init__(self, automaton: Automaton, data: bytes, parts: Parts) -> None:
        self._next, self._data, self._parts = automaton.next, data, parts
        self._ends = [end for _, end, _ in parts]

    def next(self, start: int) -> tuple[int, bytes] | None:
        """Where the first begins that stands behind a place, and what stands there."""
        for number in range(bisect_right(self._ends, start), len(self._parts)):
            first, end, numbers = self._parts[number]
            found = self._next(self._data, max(first, start), end, numbers)
            if found:
                return found
        return None


def _found_of(pieces: Sequence[bytes]) -> Found:
    """Looks for any of some patterns; of those that begin at one place for the first."""
    return _found(re2.compile(b"|".join(pieces), _OPTIONS)) if pieces else _nowhere


def _found(pattern: Any) -> Found:
    """Looks for a pattern without the objects that RE2's module makes of each match.

    They take four times as long as RE2 itself. A release that does it otherwise is asked as usual.
    """
    if not _is_as_known():
        return functools.partial(_asked, pattern)
    match, anywhere = pattern._regexp.Match, re2._Anchor.UNANCHORED

    def found(data: bytes, start: int, end: int) -> tuple[int, int]:
        end = min(end, len(data))
        if start > end:
            return -1, -1
        at, until = match(anywhere, data, max(0, start), end)[0]
        return at, until

    return found


@functools.cache
def _is_as_known() -> bool:
    """Whether RE2's module keeps what it asks where it did, and that answers as it did."""
    try:
        probe = re2.compile(b"b+", _OPTIONS)._regexp
        anywhere, data = re2._Anchor.UNANCHORED, b"a\xffbb bbb"
        told = [probe.Match(anywhere, data, at, end)[0] for at, end in ((0, 8), (4, 8), (0, 2))]
    except Exception:  # noqa: BLE001 - whatever it says of it, it is asked as usual
        return False
    return told == [(2, 4), (5, 8), (-1, -1)]


def _asked(pattern: Any, data: bytes, start: int, end: int) -> tuple[int, int]:
    one = pattern.search(data, start, end)
    return (-1, -1) if one is None else one.span()


def _nowhere(_data: bytes, _start: int, _end: int) -> tuple[int, int]:
    return -1, -1
