"""Alarms: what a machine notices about runs, for the person who audits them; never a verdict.

A new detector is a module that fits Detector, and its name in DETECTORS; what compares runs with
each other fits Comparison and stands in COMPARISONS. What they raise is of a kind in kinds.KINDS.

A build looks at a run again only when its files, its problem, its eager floor, the metric of its
board or the code changed.
So a comparison never sees the runs together: it takes a small fingerprint of each, which is kept
beside the site, and compares the fingerprints of all. Whatever it has to know of a run (problem,
contender, when it started, score) stands in the fingerprint.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from kbsite.model.alarm import Alarm
from kbsite.model.finding import failure_of

if TYPE_CHECKING:
    from kbsite.alarms.evidence import Evidence


class Detector(Protocol):
    """What looks at one run."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What it found, in the order of the run's files."""
        ...


Fingerprint = Mapping[str, tuple[str | int | float, ...]]
"""What is left of a run for a comparison: lists of plain values by name, kept as JSON."""


class Comparison(Protocol):
    """What looks at the runs of a problem together."""

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        """What it needs of a run, a few kB at most; empty for a run that it does not compare."""
        ...

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        """What it found, each with the id of the run that it is about.

        Given the fingerprints by id of run, in order of id, without those that are empty: of the
        runs of one problem or of several. What it finds of a run hangs on no other problem's.
        """
        ...


if TYPE_CHECKING:
    DETECTORS: tuple[Detector, ...]
    COMPARISONS: tuple[Comparison, ...]


class _OfSources:
    """What looks at sources, and is loaded for the first run that has any: it is most of it all.

    It sees the sources and the problem of a run, and nothing else of it.
    """

    def __init__(self, load: Callable[[], Detector]) -> None:
        self._load = load

    @cached_property
    def detector(self) -> Detector:
        """The detector itself."""
        return self._load()

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What it found; nothing where there are no sources."""
        if evidence.sources:
            yield from self.detector.alarms(evidence)


def _python() -> Detector:
    from kbsite.alarms.python.detector import PythonSources

    return PythonSources()


def _native() -> Detector:
    from kbsite.alarms.native import NativeSources

    return NativeSources()


def _detectors() -> tuple[Detector, ...]:
    from kbsite.alarms.figures import Figures
    from kbsite.alarms.session.detector import Session
    from kbsite.alarms.unread import Unread

    return _OfSources(_python), _OfSources(_native), Unread(), Session(), Figures()


def _comparisons() -> tuple[Comparison, ...]:
    from kbsite.alarms.across.scores import Scores
    from kbsite.alarms.across.sources import Sources

    return Sources(), Scores()


_this = sys.modules[__name__]
_LISTS = {"DETECTORS": _detectors, "COMPARISONS": _comparisons}


if not TYPE_CHECKING:  # which knows both

    def __getattr__(name: str) -> object:
        """DETECTORS and COMPARISONS, loaded when they are asked for: most builds look at no run."""
        if name not in _LISTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        held = _LISTS[name]()
        globals()[name] = held
        return held


def load(*, sources: bool) -> None:
    """Load what looks at runs, once for all copies of this process that do; also at `sources`."""
    for name in _LISTS:
        getattr(_this, name)
    for detector in _this.DETECTORS:
        if sources and isinstance(detector, _OfSources):
            _ = detector.detector


def scan(
    evidence: Evidence,
    failures: list[str] | None = None,
    known: Sequence[Alarm] | None = None,
) -> tuple[Alarm, ...]:
    """What all detectors find in one run, what weighs most first.

    What goes wrong in one of them is raised; given a list, it is told there, and the others look.
    What `of_sources` gives for it, where that is known, is not looked for again.
    """
    found = of_sources(evidence, failures) if known is None else list(known)
    for detector in _this.DETECTORS:
        if not isinstance(detector, _OfSources):
            found += _found(detector, evidence, failures)
    return tuple(sorted(found, key=_order))


def of_sources(evidence: Evidence, failures: list[str] | None = None) -> list[Alarm]:
    """What those detectors find that see sources and problem alone; failures as of `scan`."""
    found: list[Alarm] = []
    for detector in _this.DETECTORS:
        if isinstance(detector, _OfSources):
            found += _found(detector, evidence, failures)
    return found


def _found(detector: Detector, evidence: Evidence, failures: list[str] | None) -> list[Alarm]:
    found: list[Alarm] = []
    with _told(failures):
        found += detector.alarms(evidence)
    return found


def fingerprints(evidence: Evidence, failures: list[str] | None = None) -> tuple[Fingerprint, ...]:
    """What each comparison needs of one run, in their order; failures are told as by `scan`."""
    taken: list[Fingerprint] = []
    for comparison in _this.COMPARISONS:
        taken.append({})
        with _told(failures):
            taken[-1] = comparison.fingerprint(evidence)
    return tuple(taken)


def compare(
    runs: Mapping[str, Sequence[Fingerprint]], failures: list[str] | None = None
) -> Mapping[str, tuple[Alarm, ...]]:
    """What comparing runs finds, by id of run; only of runs with any.

    `runs` holds what `fingerprints` gave, by id of run; failures are told as by `scan`.
    """
    found: dict[str, list[Alarm]] = {}
    for number, comparison in enumerate(_this.COMPARISONS):
        held = {run_id: taken[number] for run_id, taken in sorted(runs.items()) if taken[number]}
        with _told(failures):
            for run_id, alarm in comparison.alarms(held):
                found.setdefault(run_id, []).append(alarm)
    return {run_id: tuple(sorted(held, key=_order)) for run_id, held in found.items()}


@contextmanager
def _told(failures: list[str] | None) -> Iterator[None]:
    """Tell what goes wrong in place of raising it, if there is somebody to tell."""
    try:
        yield
    except Exception as error:
        if failures is None:
            raise
        # Detectors that read the same file fail alike.
        if (said := failure_of(error)) not in failures:
            failures.append(said)


def _order(alarm: Alarm) -> tuple[int, str, tuple[int, ...], str, str]:
    return (-alarm.level.weight, alarm.file, alarm.lines, alarm.kind, alarm.other)
