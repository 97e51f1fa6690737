"""What all detectors find in some runs now, however often they were looked over before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from kbsite import alarms
from kbsite.alarms import Fingerprint
from kbsite.model.alarm import Alarm
from kbsite.model.finding import Finding, Severity
from kbsite.model.work import Tick
from kbsite.pages.page import Site
from kbsite.reading import evidence, read
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import StoredRun, as_findings, read_run
from kbsite.store.settings import Settings


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found in a run."""

    stored: StoredRun
    alarms: tuple[Alarm, ...]
    """What weighs most first."""
    failures: tuple[str, ...] = ()
    """Why not all could be looked for; empty where all was."""


@dataclass(frozen=True, slots=True)
class ScannedRuns:
    """What was found in some runs."""

    runs: tuple[Scanned, ...]
    findings: tuple[Finding, ...]
    """Runs, and files of runs, that could not be read, and why."""
    seconds: float
    """How long looking took, without reading the folders of the runs."""


def scan(settings: Settings, folders: Sequence[Path], tick: Tick | None = None) -> ScannedRuns:
    """What there is to find in the runs in some folders; in all runs of the settings without any.

    Each is compared with all runs of the settings too. One that cannot be read stops no other. All
    of them are told as they are done.
    """
    site = read(settings)
    findings = list(site.findings) if not folders else []
    runs = list(_runs(site, folders, findings)) if folders else list(site.runs)
    wanted = {stored.run.id for stored in runs}
    others = [stored for stored in site.runs if runs and stored.run.id not in wanted]
    begun = perf_counter()
    taken: dict[str, tuple[Fingerprint, ...]] = {}
    told: list[str] = []
    found = []
    for done, stored in enumerate([*runs, *others], start=1):
        if stored.run.id in wanted:
            found.append(_scanned(site, stored, taken))
        else:
            taken[stored.run.id] = alarms.fingerprints(evidence(site, stored), told)
        if tick:
            tick(stored.run.id, done, len(runs) + len(others))
    across = alarms.compare(taken, told)
    findings += [Finding(Severity.ERROR, str(settings.runs), failure) for failure in told]
    merged = tuple(_with(one, across.get(one.stored.run.id, ())) for one in found)
    return ScannedRuns(merged, tuple(findings), perf_counter() - begun)


def _runs(site: Site, folders: Sequence[Path], findings: list[Finding]) -> Iterator[StoredRun]:
    known = {stored.folder: stored for stored in site.runs}
    for folder in dict.fromkeys(folders):
        try:
            stored = known.get(folder) or read_run(folder)
        except InvalidFileError as error:
            findings += as_findings(error)
            continue
        findings += stored.findings
        yield stored


def _scanned(site: Site, stored: StoredRun, taken: dict[str, tuple[Fingerprint, ...]]) -> Scanned:
    seen, told = evidence(site, stored), list[str]()
    found = alarms.scan(seen, told)
    taken[stored.run.id] = alarms.fingerprints(seen, told)
    return Scanned(stored, found, tuple(told))


def _with(one: Scanned, across: Sequence[Alarm]) -> Scanned:
    both = sorted([*one.alarms, *across], key=lambda alarm: -alarm.level.weight)
    return replace(one, alarms=tuple(both))
