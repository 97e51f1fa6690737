"""Which lines two texts have in common, told in time in proportion to them, whatever they hold."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

LEAST = 500_000
"""Steps that any two texts may take; two of a thousand lines hardly ever take more."""

EACH = 20
"""Steps that there are beside, for each line."""


MATCHES = 500_000
"""Pairs of equal lines from which two texts are not matched, but shown one after the other."""


class _TooLongError(Exception):
    """Two texts have more in common than difflib finds in time."""


class LineMatcher(SequenceMatcher[str]):
    """difflib's matcher, which takes time in the square where every second line was changed.

    There, the lines that stand once in both texts are held against each other, and what is equal
    beside them.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        self.steps = 0
        """Comparisons so far."""
        self._lines = old, new
        self._anchored: list[Match] | None = None
        self._most = LEAST + EACH * (len(old) + len(new))
        weighed = (count + 1 for count in _counts(old, new))
        self._upto = list(accumulate(weighed, initial=0))
        self.pairs = self._upto[-1] - len(old)
        """Number of pairs of equal lines that are weighed."""

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """The longest stretch of equal lines between two pairs of places."""
        end = len(self._lines[0]) if ahi is None else ahi
        self.steps += self._upto[end] - self._upto[alo]
        if self.steps > self._most:
            raise _TooLongError
        return super().find_longest_match(alo, ahi, blo, bhi)

    def get_matching_blocks(self) -> list[Match]:
        """The stretches of equal lines, in their order, and an empty one at the end."""
        if self._anchored is None:
            try:
                return super().get_matching_blocks()
            except _TooLongError:
                self._anchored = list(_anchored(*self._lines))
        return self._anchored


def _counts(old: Sequence[str], new: Sequence[str]) -> Iterator[int]:
    """With how many new lines difflib weighs each old one; it leaves out very common ones."""
    there = Counter(new)
    common = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    for line in old:
        count = there[line]
        yield count if count <= common else 0


def _anchored(old: Sequence[str], new: Sequence[str]) -> Iterator[Match]:
    """What is equal around lines that stand once in both texts, and in one order."""
    first = second = 0
    for place, other in _in_order(list(_single(old, new))):
        if place < first:
            continue  # it is part of the stretch before
        start, end = place, place + 1
        shift = other - place
        while start > first and start + shift > second and old[start - 1] == new[start + shift - 1]:
            start -= 1
        most = min(len(old), len(new) - shift)
        while end < most and old[end] == new[end + shift]:
            end += 1
        yield Match(start, start + shift, end - start)
        first, second = end, end + shift
    yield Match(len(old), len(new), 0)


def _single(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the lines stand, in both texts, that stand once in each."""
    counts, others = Counter(old), Counter(new)
    there = {line: place for place, line in enumerate(new) if others[line] == 1}
    for place, line in enumerate(old):
        if counts[line] == 1 and line in there:
            yield place, there[line]


def _in_order(pairs: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """The most of the pairs, in the order of their first places, whose second ones rise, too."""
    ends: list[int] = []
    numbers: list[int] = []
    """By length: where the lowest end of so many pairs is, and which pair that is."""
    before: list[int] = []
    for number, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(numbers[length - 1] if length else -1)
        ends[length : length + 1], numbers[length : length + 1] = [other], [number]
    found: list[tuple[int, int]] = []
    number = numbers[-1] if numbers else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
