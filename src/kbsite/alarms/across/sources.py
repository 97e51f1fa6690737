"""Sources that are nearly another run's, however names, literals and comments were changed.

What stands in the problem's reference or prompt is given to all, and what more than half of at
least five contenders have is how one writes that kernel: neither counts. Of what is left, the share
of the smaller source that the other one has too decides. Of two runs the later one is told of.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kbsite.alarms.across.tokens import NATIVE, PYTHON, tokens
from kbsite.alarms.across.winnowing import SPACE, limited, marks, packed, unpacked
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm, shown
from kbsite.model.alarm import Alarm, Level

LEAST: Final = 12
"""Marks that two sources must share: about 80 tokens in a row, or as many in pieces."""

# Of 18,585 pairs of Triton kernels from three public libraries, none shares more than 0.13.
ALARM_SHARE: Final = 0.7
WARNING_SHARE: Final = 0.4
NOTE_SHARE: Final = 0.25

COMMON: Final = 5
"""Contenders that have to have a mark before it can be everybody's."""

CROWD: Final = 60
"""Runs from which a mark says nothing, whosever they are."""

AT_ONCE: Final = 200_000
"""Marks that are told apart at once."""

Print = Mapping[str, tuple[str | int | float, ...]]


class _Run(Struct, frozen=True):
    """A run, by its fingerprint."""

    id: str
    contender: str
    started: float
    """Seconds since the epoch; 0 where that is not known."""
    limit: int
    marks: Sequence[int]
    """In order of size."""

    def size(self, limit: int) -> int:
        """Its marks below a number."""
        return bisect_left(self.marks, limit)


class _Pair(Struct, frozen=True):
    """Two runs of one problem, and what they share."""

    first: _Run
    later: _Run
    share: float
    """Of the smaller one's marks those that the other has too."""
    likeness: float
    """Of all marks of both those that both have."""
    ordered: bool
    """Whether it is known which was first."""

    @property
    def apart(self) -> bool:
        """Whether two contenders made them."""
        return self.first.contender != self.later.contender


class Sources:
    """Compares sources with those of other runs of the same problem."""

    def fingerprint(self, evidence: Evidence) -> Print:
        """Marks of the source without those of what was given; empty where too few are left."""
        kept = set()
        for source in evidence.sources:
            if source.suffix in NATIVE or source.suffix in PYTHON:
                kept.update(marks(tokens(source.text, native=source.suffix in NATIVE)))
        if evidence.problem is not None:
            for given in (evidence.problem.reference, evidence.problem.prompt):
                kept.difference_update(_given(given))
        held, limit = limited(sorted(kept))
        if len(held) < LEAST:
            return {}
        run = evidence.stored.run
        started = run.started.timestamp() if run.started else 0.0
        return {"who": (run.problem, run.contender.label, started, limit), "marks": (packed(held),)}

    def alarms(self, runs: Mapping[str, Print]) -> Iterator[tuple[str, Alarm]]:
        """Each run whose source is another one's too, with the other one that is nearest."""
        problems: dict[str, list[_Run]] = {}
        for run_id, taken in runs.items():
            problem, contender, started, limit = taken["who"]
            numbers = unpacked(str(taken["marks"][0]))
            one = _Run(run_id, str(contender), float(started), int(limit), numbers)
            problems.setdefault(str(problem), []).append(one)
        for held in problems.values():
            yield from _told(list(_pairs(held)))


@lru_cache(maxsize=256)
def _given(text: str) -> frozenset[int]:
    """The marks of what a problem gives to each of its runs."""
    return frozenset(marks(tokens(text, native=False)))


def _pairs(runs: Sequence[_Run]) -> Iterator[_Pair]:
    """The pairs that share enough, found by their marks: no run is held against all others."""
    index = _index(runs)
    dull = _dull(index, runs)
    telling = [
        replace(run, marks=array("I", (m for m in run.marks if m not in dull))) if dull else run
        for run in runs
    ]
    shared: Counter[tuple[int, int]] = Counter()
    for mark, numbers in index.items():
        if mark not in dull:
            shared.update(combinations(numbers, 2))
    for (one, other), count in sorted(shared.items()):
        if count >= LEAST:
            pair = _pair(telling[one], telling[other], count)
            if pair.share >= NOTE_SHARE:
                yield pair


def _index(runs: Sequence[_Run]) -> dict[int, list[int]]:
    """The runs, by their number, that have each mark, without marks that only one has."""
    index: dict[int, list[int]] = {}
    parts = 1 + sum(len(run.marks) for run in runs) // AT_ONCE
    for part in range(parts):
        # Most marks are of one run: a table of all of them at once would be larger than all else.
        start, end = SPACE * part // parts, SPACE * (part + 1) // parts
        held: dict[int, list[int]] = {}
        for number, run in enumerate(runs):
            for mark in run.marks[run.size(start) : run.size(end)]:
                held.setdefault(mark, []).append(number)
        index |= {mark: numbers for mark, numbers in held.items() if len(numbers) > 1}
    return index


def _dull(index: Mapping[int, Sequence[int]], runs: Sequence[_Run]) -> set[int]:
    """The marks that are everybody's."""
    contenders = [run.contender for run in runs]
    crowd = max(COMMON, len(set(contenders)) // 2 + 1)
    return {
        mark
        for mark, numbers in index.items()
        if len(numbers) >= COMMON
        and (len(numbers) > CROWD or len({contenders[n] for n in numbers}) >= crowd)
    }


def _pair(one: _Run, other: _Run, count: int) -> _Pair:
    limit = min(one.limit, other.limit)
    sizes = one.size(limit), other.size(limit)
    first, later = sorted((one, other), key=lambda run: (run.started, run.id))
    ordered = 0 < first.started < later.started
    return _Pair(first, later, count / min(sizes), count / (sum(sizes) - count), ordered)


def _told(pairs: Sequence[_Pair]) -> Iterator[tuple[str, Alarm]]:
    """For each run the nearest one of another contender, and the nearest of its own."""
    nearest: dict[tuple[str, bool], list[_Pair]] = {}
    for pair in pairs:
        nearest.setdefault((pair.later.id, pair.apart), []).append(pair)
        if pair.apart and not pair.ordered:
            nearest.setdefault((pair.first.id, True), []).append(pair)
    for (run_id, _), held in sorted(nearest.items()):
        best = max(held, key=lambda pair: (pair.share, pair.likeness))
        yield run_id, _alarm(run_id, best, len(held) - 1)
    copied: dict[str, _Pair] = {}
    for pair in sorted(pairs, key=lambda pair: pair.share):
        if pair.apart and pair.ordered and pair.share >= WARNING_SHARE:
            copied[pair.first.id] = pair
    yield from ((run_id, _echo(pair)) for run_id, pair in sorted(copied.items()))


def _alarm(run_id: str, pair: _Pair, more: int) -> Alarm:
    other = pair.first if pair.later.id == run_id else pair.later
    whose = shown(other.contender) if pair.apart else "the same contender"
    when = "an earlier run" if pair.ordered else "a run"
    others = f", and {more} more runs have much of it too" if more else ""
    saw = (
        f"{pair.share:.0%} of the smaller source stands, but for names and literals, in {when} of"
        f" {whose} too ({pair.likeness:.0%} of both){others}."
    )
    return alarm("near-identical-source", _level(pair), saw, "solution.py", other=other.id)


def _echo(pair: _Pair) -> Alarm:
    saw = (
        f"A later run of {shown(pair.later.contender)} has {pair.share:.0%} of the smaller source."
    )
    return alarm("near-identical-source", Level.NOTE, saw, "solution.py", other=pair.later.id)


def _level(pair: _Pair) -> Level:
    if not pair.apart or pair.share < WARNING_SHARE:
        return Level.NOTE
    return Level.ALARM if pair.share >= ALARM_SHARE else Level.WARNING
