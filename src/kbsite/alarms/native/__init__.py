"""Static alarms on native sources: C, C++, CUDA, HIP and PTX, in files and in texts of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.native.sources import native_sources
from kbsite.model.alarm import Alarm

MOST: Final = 12
"""Alarms of one kind on one file: a source with more is looked at anyway."""


class NativeSources:
    """What stands in a run's native sources."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What the rules find, what weighs most first; of a kind, one at a place."""
        if not native_sources(evidence):
            return
        # Most solutions are Python alone, and the rules take as long to load as some pages.
        from kbsite.alarms.native.rules import found

        told: set[tuple[str, str, tuple[int, ...]]] = set()
        counted: Counter[tuple[str, str]] = Counter()
        for alarm in sorted(found(evidence), key=lambda one: -one.level.weight):
            place = (alarm.kind, alarm.file, alarm.lines)
            if place in told or counted[place[:2]] >= MOST:
                continue
            told.add(place)
            counted[place[:2]] += 1
            yield alarm
