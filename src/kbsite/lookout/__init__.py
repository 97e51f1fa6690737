"""What machines find in runs before a person does: alarms, and quotes that are proven or are not.

A run is looked over again when what it was looked over for has changed, and only then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from kbsite import alarms
from kbsite.ahead import Ahead
from kbsite.alarms.evidence import Evidence
from kbsite.engines import Engine, Here, Lost
from kbsite.lookout.noticed import UNKNOWN, Across, Noticed, Scan, Sighting, found_across
from kbsite.lookout.one_run import Case, Keeping, LookedOver, errand, load, unlooked
from kbsite.model.alarm import Alarm
from kbsite.model.finding import Finding, Severity
from kbsite.model.work import Tick
from kbsite.standing import digest
from kbsite.store.inputs import Input, digest_of
from kbsite.store.run_folders import AUDIT
from kbsite.store.runs import StoredRun

KEPT = 64_000_000
"""Bytes of transcripts that are kept as they were read, so that pages need not read them again."""

LONG = 1_000_000
"""Bytes of transcripts that take long enough to have something else done meanwhile."""


class Lookout(Struct, frozen=True):
    """Looks runs over, but for those that are what they were."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    """The files of the runs, by absolute path; a run with none of them is always looked over."""
    before: Mapping[str, Noticed] = field(default_factory=dict)
    """What the same code found the last time."""
    compared: Mapping[str, Across] = field(default_factory=dict)
    """What comparing the runs of each problem found the last time."""
    engine: Engine = field(default_factory=Here)
    """Who looks."""
    ahead: Ahead | None = None
    """Where what transcripts say is kept for their pages, KEPT bytes of them at most."""
    meanwhile: Callable[[StoredRun | None], None] | None = None
    """What there is to do while others look; with a long run that they have, if a core is left."""

    def look(self, runs: Sequence[Evidence], tick: Tick | None = None) -> Sighting:
        """What there is to find in the runs of a site; each that is looked over is told."""
        noticed = self._noticed(runs, tick)
        told: list[str] = []
        across = self._across(runs, noticed, told)
        beside = found_across(across)
        # In most of thousands of runs nothing is found, and nothing fails.
        found = {
            run_id: _heaviest([*one.scan.alarms, *beside.get(run_id, ())])
            for run_id, one in noticed.items()
            if one.scan.alarms or beside.get(run_id)
        }
        failed = (run for run in runs if _has_failed(noticed[run.stored.run.id]))
        findings = [
            _failed(str(run.stored.folder), failure)
            for run in failed
            for failure in _failures(noticed[run.stored.run.id])
        ]
        return Sighting(
            alarms=found,
            proofs={run: one.reading.proofs for run, one in noticed.items() if one.reading.proofs},
            findings=(*findings, *(_failed("runs", f"{_NOT_ALL}: {one}") for one in told)),
            noticed=noticed,
            across=across,
        )

    def _across(
        self, runs: Sequence[Evidence], noticed: Mapping[str, Noticed], told: list[str]
    ) -> dict[str, Across]:
        """What comparing the runs of each problem finds; what goes wrong is told, each once."""
        problems: dict[str, dict[str, Scan]] = {}
        for run in sorted(runs, key=lambda run: run.stored.run.id):
            one = run.stored.run
            problems.setdefault(one.problem, {})[one.id] = noticed[one.id].scan
        return {problem: self._compared(problem, problems[problem], told) for problem in problems}

    def _compared(self, problem: str, scans: Mapping[str, Scan], told: list[str]) -> Across:
        """What comparing finds: what it found the last time if the runs are what they were."""
        prints = [(run_id, scan.prints) for run_id, scan in scans.items()]
        key = digest(prints) if all(taken for _, taken in prints) else ""
        held = self.compared.get(problem)
        if key and held and held.made_of == key:
            return held
        failures: list[str] = []
        taken = {run_id: one.fingerprints for run_id, one in scans.items() if one.fingerprints}
        found = dict(alarms.compare(taken, failures))
        told += (one for one in failures if one not in told)
        return Across("" if failures else key, found)

    def _noticed(self, runs: Sequence[Evidence], tick: Tick | None) -> dict[str, Noticed]:
        """What was found in each run, now or the last time."""
        found: dict[str, Noticed] = {}
        anew = []
        for run in runs:
            scan, reading = self._keys(run)
            held = found[run.stored.run.id] = self.before.get(run.stored.run.id, UNKNOWN)
            if not scan or held.scan.made_of != scan or held.reading.made_of != reading:
                anew.append(Case(run, held, scan, reading, self._sources(run)))
        looked: dict[str, Noticed] = {}

        def told(number: int, given: LookedOver | Lost) -> None:
            run_id = anew[number].run.stored.run.id
            one = LookedOver(unlooked(given)) if isinstance(given, Lost) else given
            looked[run_id] = one.noticed
            if self.ahead:
                self.ahead.add(run_id, one.packed)
            if tick:
                tick(run_id, len(looked), len(anew))

        def meanwhile(cores: int) -> None:
            longest = max(anew, key=lambda case: case.size)
            if self.meanwhile:
                long = cores and longest.size >= LONG
                self.meanwhile(longest.run.stored if long else None)

        load([case for case in anew if case.is_scanned])
        weights = [case.weight for case in anew]
        self.engine.each(errand(anew, self._kept(anew)), anew, weights, told, meanwhile)
        return found | looked

    def _kept(self, anew: Sequence[Case]) -> Keeping | None:
        """Of which runs is kept what is read of them: of the first that there is room for."""
        if self.ahead is None:
            return None
        kept, room = set(), KEPT
        for case in anew:
            if case.is_scanned and 0 < case.size <= room:
                room -= case.size
                kept.add(case.run.stored.run.id)
        if len(anew) > 1:
            self.ahead.open()
        # Of a single run this process reads the transcript while a copy looks it over.
        return Keeping(os.getpid(), len(anew) > 1, frozenset(kept), self.ahead)

    def _keys(self, run: Evidence) -> tuple[str, str]:
        """Digests of what alarms and proofs are made of; empty where that is not known."""
        problem = run.problem.hash if run.problem else None
        beside = f"{problem} {run.eager!r} {run.in_shares}"
        if run.stored.says:
            return f"{run.stored.unaudited} {beside}", run.stored.says
        paths = {file.name: str(file.path.absolute()) for file in run.stored.files}
        held = {name: self.inputs[path] for name, path in paths.items() if path in self.inputs}
        if not paths or len(held) < len(paths):
            return "", ""
        whole = digest_of(held)
        held.pop(AUDIT, None)
        return f"{digest_of(held)} {beside}", whole

    def _sources(self, run: Evidence) -> str:
        """Digest of what detectors of sources see of a run; empty where that is not known."""
        held = {file.name: self.inputs.get(str(file.path.absolute())) for file in run.source_files}
        known = {name: one for name, one in held.items() if one}
        problem = run.problem.hash if run.problem else None
        return f"{digest_of(known)} {problem}" if len(known) == len(held) else ""


_NOT_ALL = "not all alarms could be looked for"


def _heaviest(found: Sequence[Alarm]) -> tuple[Alarm, ...]:
    return tuple(sorted(found, key=lambda alarm: -alarm.level.weight))


def _has_failed(noticed: Noticed) -> bool:
    return bool(noticed.scan.failures or noticed.reading.failures)


def _failures(noticed: Noticed) -> list[str]:
    scan = [f"{_NOT_ALL}: {told}" for told in noticed.scan.failures]
    return scan + [f"its quotes were not proven: {told}" for told in noticed.reading.failures]


def _failed(path: str, failure: str) -> Finding:
    return Finding(Severity.ERROR, path, failure)
