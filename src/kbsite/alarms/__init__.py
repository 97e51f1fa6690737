"""Alarms: what a machine notices about runs, for the person who audits them; never a verdict.

A new detector is a module that fits Detector, and its name in DETECTORS; what compares runs with
each other fits Comparison and stands in COMPARISONS. What they raise is of a kind in kinds.KINDS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from kbsite.alarms.evidence import Evidence
from kbsite.model.alarm import Alarm


class Detector(Protocol):
    """What looks at one run."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What it found, in the order of the run's files."""
        ...


class Comparison(Protocol):
    """What looks at all runs of a site together."""

    def alarms(self, runs: Sequence[Evidence]) -> Iterator[tuple[str, Alarm]]:
        """What it found, each with the id of the run that it is about."""
        ...


DETECTORS: tuple[Detector, ...] = ()

COMPARISONS: tuple[Comparison, ...] = ()


def scan(evidence: Evidence) -> tuple[Alarm, ...]:
    """What all detectors find in one run, what weighs most first."""
    found = [alarm for detector in DETECTORS for alarm in detector.alarms(evidence)]
    return tuple(sorted(found, key=_order))


def compare(runs: Sequence[Evidence]) -> Mapping[str, tuple[Alarm, ...]]:
    """What comparing the runs with each other finds, by id of run; only of runs with any."""
    found: dict[str, list[Alarm]] = {}
    for comparison in COMPARISONS:
        for run_id, alarm in comparison.alarms(runs):
            found.setdefault(run_id, []).append(alarm)
    return {run_id: tuple(sorted(held, key=_order)) for run_id, held in found.items()}


def _order(alarm: Alarm) -> tuple[int, str, tuple[int, ...], str, str]:
    return (-alarm.level.weight, alarm.file, alarm.lines, alarm.kind, alarm.other)
