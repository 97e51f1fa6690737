"""All rules on native code, which are loaded where there is some."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.native import calls, libraries, memory, paths, precision, state, streams, texts
from kbsite.alarms.native.solution import Solution
from kbsite.alarms.native.unit import Unit
from kbsite.model.alarm import Alarm


def found(evidence: Evidence) -> Iterator[Alarm]:
    """What the rules find in a run, source by source."""
    solution = Solution(evidence)
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
