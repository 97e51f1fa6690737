"""The detector of all that is read in Python sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import shown
from kbsite.alarms.python import (
    algorithms,
    branches,
    calls,
    fallbacks,
    hidden,
    keeping,
    likeness,
    outside,
    patches,
    precision,
    residency,
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
    hidden.find,
    patches.find,
    sniffing.find,
    outside.find,
    waiting.find,
    keeping.find,
    precision.find,
    branches.find,
    fallbacks.find,
    likeness.find,
    residency.find,
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
            yield from _chosen([alarm for find in FINDERS for alarm in _bounded(find, reading)])
        yield from algorithms.alarms(evidence)


def _bounded(find: Callable[[Reading], Iterator[Alarm]], reading: Reading) -> list[Alarm]:
    """What a finder finds; a warning in place of it where the source is nested beyond reason."""
    try:
        return list(find(reading))
    except RecursionError:
        says = "The source was not looked into everywhere: its parts are nested too deeply."
        return [reading.raised("obfuscation", Level.WARNING, says)]


_ENCODING: Final = re.compile(r"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
_PLAIN: Final = ("utf-8", "utf8", "ascii", "us-ascii", "latin-1", "iso-8859-1", "utf-8-sig")


def _unread(reading: Reading) -> Iterator[Alarm]:
    encoding = _ENCODING.match(reading.module.source.text)
    if encoding is not None and encoding[1].lower().replace("_", "-") not in _PLAIN:
        says = f"The source says that it is encoded in `{shown(encoding[1])}`: it is not what runs."
        yield reading.raised("obfuscation", Level.ALARM, says)
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
