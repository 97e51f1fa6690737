"""Static alarms on native sources: C, C++, CUDA, HIP and PTX, in files and in texts of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.native import calls, libraries, memory, paths, precision, state, streams, texts
from kbsite.alarms.native.solution import Solution
from kbsite.alarms.native.unit import Unit
from kbsite.model.alarm import Alarm

MOST: Final = 12
"""Alarms of one kind on one file: a source with more is looked at anyway."""


class NativeSources:
    """What stands in a run's native sources."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What the rules find, what weighs most first; of a kind, one at a place."""
        told: set[tuple[str, str, tuple[int, ...]]] = set()
        counted: Counter[tuple[str, str]] = Counter()
        for alarm in sorted(_found(Solution(evidence)), key=lambda one: -one.level.weight):
            place = (alarm.kind, alarm.file, alarm.lines)
            if place in told or counted[place[:2]] >= MOST:
                continue
            told.add(place)
            counted[place[:2]] += 1
            yield alarm


def _found(solution: Solution) -> Iterator[Alarm]:
    for unit in solution.units:
        yield from _in_one(unit, solution)
    yield from libraries.find_covered(solution)


def _in_one(unit: Unit, solution: Solution) -> Iterator[Alarm]:
    yield from libraries.find(unit, solution)
    yield from libraries.find_loaded(unit)
    yield from libraries.find_escapes(unit)
    yield from calls.find(unit)
    yield from calls.find_told(unit)
    yield from calls.find_interposed(unit)
    yield from state.find(unit)
    yield from streams.find(unit)
    yield from memory.find(unit)
    yield from precision.find(unit, solution)
    yield from paths.find(unit)
    yield from texts.find(unit)
