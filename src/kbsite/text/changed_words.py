"""Which words of a changed line were changed, so that a diff can mark them.

Only lines that are alike are compared word by word, and only while that is cheap: a reader needs
few marks, and none where a line was written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from msgspec import Struct

LONGEST = 600
"""Characters of a line from which its words are not compared."""

PAIRS = 2000
"""Pairs of words from which what lies between two equal ends is marked as one."""

AHEAD = 3
"""Added lines that are looked at for one like a removed line, where there are not as many."""

MOST = 6
"""Marks in a line; what more there would be is put into the last."""

STARTS, ENDS = "\x01", "\x02"
"""Signs around what is marked: a text that was made visible holds none of them."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_SOLID = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]
"""First character of what is marked, and the one after it."""
Spans = tuple[Span, ...]


class _Line(Struct, frozen=True):
    """A line, and the different words in it."""

    text: str
    words: frozenset[str]
    letters: int
    """Letters of these words."""

    def is_like(self, other: _Line) -> bool:
        """Whether half of the words of the longer one stand in both."""
        longer, shorter = max(self.letters, other.letters), min(self.letters, other.letters)
        if not 0 < longer <= 2 * shorter:
            return False
        return longer <= 2 * sum(map(len, self.words & other.words))


def with_marks(removed: str, added: str) -> tuple[str, str]:
    """Removed lines and those in their place, with STARTS and ENDS around the changed words.

    Every line starts with the sign of the diff and has a line end.
    """
    sides = removed.split("\n"), added.split("\n")
    # A carriage return that belongs to the line end must stay beside it.
    lines = ([_line(shown[1:].removesuffix("\r")) for shown in side[:-1]] for side in sides)
    for first, second in _pairs(*lines):
        old, new = changed(first[1].text, second[1].text)
        sides[0][first[0]] = _marked(sides[0][first[0]], old)
        sides[1][second[0]] = _marked(sides[1][second[0]], new)
    return "\n".join(sides[0]), "\n".join(sides[1])


def _line(text: str) -> _Line:
    return _short(text) if len(text) <= LONGEST else _Line(text, frozenset(), 0)


@lru_cache(1000)
def _short(text: str) -> _Line:
    """A line and its words, remembered: what one change adds, a later one often removes."""
    words = frozenset(_SOLID.findall(text))
    return _Line(text, words, sum(map(len, words)))


_Numbered = tuple[int, _Line]


def _pairs(
    removed: Sequence[_Line], added: Sequence[_Line]
) -> Iterator[tuple[_Numbered, _Numbered]]:
    """Lines that are alike, in the order of both: side by side where there are as many."""
    as_many, free = len(removed) == len(added), 0
    for first, line in enumerate(removed):
        low, high = (first, first + 1) if as_many else (free, free + AHEAD)
        for second in range(low, min(high, len(added))):
            if line.is_like(added[second]):
                yield (first, line), (second, added[second])
                free = second + 1
                break


def changed(old: str, new: str) -> tuple[Spans, Spans]:
    """What differs between two lines, in each of them."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    start = _equal(before, after)
    end = _equal(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    at, equal = sum(map(len, before[:start])), _equal_words(left, right)
    lefts, rights = [(i, n) for i, _, n in equal], [(j, n) for _, j, n in equal]
    return _gaps(left, at, lefts), _gaps(right, at, rights)


def _equal(one: list[str], other: list[str]) -> int:
    """Number of words that two lists begin with alike."""
    number = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        number += 1
    return number


def _equal_words(left: list[str], right: list[str]) -> list[tuple[int, int, int]]:
    """Runs of equal words between two equal ends; none of blanks or of single signs."""
    if len(left) * len(right) > PAIRS:
        return []
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    found = [(i, j, n) for i, j, n in blocks if n and len("".join(left[i : i + n]).strip()) > 1]
    return found[: MOST - 1]


def _gaps(words: list[str], at: int, equal: list[tuple[int, int]]) -> Spans:
    """What lies between runs of equal words, where the first word is character `at` of its line."""
    spans, last = [], 0
    for first, number in [*equal, (len(words), 0)]:
        if first > last:
            low = at + sum(map(len, words[:last]))
            spans.append((low, low + sum(map(len, words[last:first]))))
        last = first + number
    return tuple(spans)


def _marked(shown: str, spans: Spans) -> str:
    """A line with signs around these spans of its text, which starts after the diff's own sign."""
    pieces, last = [], 0
    for first, end in spans:
        pieces += [shown[last : first + 1], STARTS, shown[first + 1 : end + 1], ENDS]
        last = end + 1
    return "".join([*pieces, shown[last:]])
