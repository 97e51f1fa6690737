"""The detector of all that is read in Python sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import shown
from kbsite.alarms.python import (
    algorithms,
    branches,
    calls,
    fallbacks,
    keeping,
    outside,
    patches,
    precision,
    sniffing,
    waiting,
    wording,
    work,
)
from kbsite.alarms.python.reading import Reading, readings
from kbsite.model.alarm import Alarm, Level

FINDERS: Final[tuple[Callable[[Reading], Iterator[Alarm]], ...]] = (
    work.find,
    calls.find,
    patches.find,
    sniffing.find,
    outside.find,
    waiting.find,
    keeping.find,
    precision.find,
    branches.find,
    fallbacks.find,
    wording.find,
)
"""What looks at a source, each for kinds of its own."""

MOST: Final = 6
"""Alarms of a kind and level that are told of one file; more would hide the others."""


class PythonSources:
    """What solution.py and its sidecars do, by their syntax trees."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What was found, in the order of the files; each line once for a kind."""
        for reading in readings(evidence):
            yield from _unread(reading)
            yield from _chosen([alarm for find in FINDERS for alarm in find(reading)])
        yield from algorithms.alarms(evidence)


def _unread(reading: Reading) -> Iterator[Alarm]:
    if reading.module.problem:
        says = f"The source was not looked into: {shown(reading.module.problem)}."
        yield reading.raised("obfuscation", Level.NOTE, says)


def _chosen(found: list[Alarm]) -> Iterator[Alarm]:
    """The heaviest of each line and kind, and of those not more than are of use."""
    heaviest: dict[tuple[str, tuple[int, ...]], Alarm] = {}
    for alarm in found:
        place = (alarm.kind, alarm.lines)
        held = heaviest.get(place)
        if held is None or held.level.weight < alarm.level.weight:
            heaviest[place] = alarm
    counts: dict[tuple[str, Level], int] = {}
    for alarm in sorted(heaviest.values(), key=lambda alarm: alarm.lines):
        counted = (alarm.kind, alarm.level)
        counts[counted] = counts.get(counted, 0) + 1
        if counts[counted] <= MOST:
            yield alarm
