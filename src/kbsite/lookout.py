"""What machines find in runs before a person does: alarms, and quotes that are proven or are not.

A run is looked over again when what it was looked over for has changed, and only then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from msgspec import Struct, field, structs

from kbsite import alarms
from kbsite.ahead import Ahead, Place
from kbsite.alarms import Fingerprint
from kbsite.alarms.evidence import Evidence
from kbsite.engines import Engine, Errand, Here, Lost, Parcel
from kbsite.harnesses import module_of
from kbsite.model.alarm import Alarm
from kbsite.model.event import Event
from kbsite.model.finding import Finding, Severity, failure_of
from kbsite.model.proof import Proof
from kbsite.proofs import proofs
from kbsite.store.inputs import Input, digest_of
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import AUDIT, StoredRun

Tick = Callable[[str, int, int], None]
"""Told what has been done, how many things are done, and how many there are."""

KEPT = 64_000_000
"""Bytes of transcripts that are kept as they were read, so that pages need not read them again."""

LONG = 1_000_000
"""Bytes of transcripts that take long enough to have something else done meanwhile."""


class Scan(Struct, frozen=True):
    """What detectors found in a run."""

    made_of: str
    """Digest of all that they looked at; empty where that is not known."""
    alarms: tuple[Alarm, ...] = ()
    fingerprints: tuple[Fingerprint, ...] = ()
    failures: tuple[str, ...] = ()
    prints: str = ""
    """Digest of the fingerprints; empty where that is not known."""
    sources: str = ""
    """Digest of what detectors of sources looked at; empty where that is not known."""
    of_sources: tuple[int, ...] = ()
    """Which of the alarms are theirs."""


class Reading(Struct, frozen=True):
    """What became of the quotes of a run's audit."""

    made_of: str
    """Digest of the audit and all that it may quote; empty where that is not known."""
    proofs: tuple[Proof, ...] = ()
    failures: tuple[str, ...] = ()


class Noticed(Struct, frozen=True):
    """All that was found in a run."""

    scan: Scan
    reading: Reading


class Across(Struct, frozen=True):
    """What comparing the runs of a problem found."""

    made_of: str = ""
    """Digest of all that was compared; empty where that is not known."""
    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run."""


class Sighting(Struct, frozen=True):
    """What was found in all runs."""

    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run, what weighs most first; only of runs with any."""
    proofs: Mapping[str, tuple[Proof, ...]] = field(default_factory=dict)
    """By id of run, in the order of the quotes; only of runs with any."""
    findings: tuple[Finding, ...] = ()
    """What could not be looked at."""
    noticed: Mapping[str, Noticed] = field(default_factory=dict)
    """By id of run, for the next time."""
    across: Mapping[str, Across] = field(default_factory=dict)
    """By problem, likewise."""


def found_across(across: Mapping[str, Across]) -> dict[str, tuple[Alarm, ...]]:
    """What comparing found, by id of run."""
    return {run_id: held for one in across.values() for run_id, held in one.alarms.items()}


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
        key = _digest(prints) if all(taken for _, taken in prints) else ""
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
            held = found[run.stored.run.id] = self.before.get(run.stored.run.id, _UNKNOWN)
            if not scan or held.scan.made_of != scan or held.reading.made_of != reading:
                anew.append(_Work(run, held, scan, reading, self._sources(run)))
        looked: dict[str, Noticed] = {}

        def told(number: int, given: _Looked | Lost) -> None:
            run_id = anew[number].run.stored.run.id
            one = _Looked(_unlooked(given)) if isinstance(given, Lost) else given
            looked[run_id] = one.noticed
            if self.ahead:
                self.ahead.add(run_id, one.packed)
            if tick:
                tick(run_id, len(looked), len(anew))

        def meanwhile(cores: int) -> None:
            longest = max(anew, key=_size)
            if self.meanwhile:
                long = cores and _size(longest) >= LONG
                self.meanwhile(longest.run.stored if long else None)

        _load([work for work in anew if work.is_scanned])
        weights = [_LEAST + _size(work) // _FASTER for work in anew]
        errand = _errand(anew, self._kept(anew))
        self.engine.each(errand, anew, weights, told, meanwhile)
        return found | looked

    def _kept(self, anew: Sequence[_Work]) -> _Keeping | None:
        """Of which runs is kept what is read of them: of the first that there is room for."""
        if self.ahead is None:
            return None
        kept, room = set(), KEPT
        for work in anew:
            if work.is_scanned and 0 < _size(work) <= room:
                room -= _size(work)
                kept.add(work.run.stored.run.id)
        if len(anew) > 1:
            self.ahead.open()
        # Of a single run this process reads the transcript while a copy looks it over.
        return _Keeping(os.getpid(), len(anew) > 1, frozenset(kept), self.ahead)

    def _keys(self, run: Evidence) -> tuple[str, str]:
        """Digests of what alarms and proofs are made of; empty where that is not known."""
        problem = run.problem.hash if run.problem else None
        if run.stored.says:
            return f"{run.stored.unaudited} {problem} {run.eager!r}", run.stored.says
        paths = {file.name: str(file.path.absolute()) for file in run.stored.files}
        held = {name: self.inputs[path] for name, path in paths.items() if path in self.inputs}
        if not paths or len(held) < len(paths):
            return "", ""
        whole = digest_of(held)
        held.pop(AUDIT, None)
        return f"{digest_of(held)} {problem} {run.eager!r}", whole

    def _sources(self, run: Evidence) -> str:
        """Digest of what detectors of sources see of a run; empty where that is not known."""
        held = {file.name: self.inputs.get(str(file.path.absolute())) for file in run.source_files}
        known = {name: one for name, one in held.items() if one}
        problem = run.problem.hash if run.problem else None
        return f"{digest_of(known)} {problem}" if len(known) == len(held) else ""


_NOT_ALL = "not all alarms could be looked for"

_UNKNOWN = Noticed(Scan(""), Reading(""))


class _Work(Struct, frozen=True):
    """A run that has to be looked over, and what is known of it."""

    run: Evidence
    held: Noticed
    scan: str
    reading: str
    sources: str

    @property
    def known(self) -> list[Alarm] | None:
        """What detectors of sources found in what they would find now; None if nobody knows."""
        held = self.held.scan
        same = self.sources and held.sources == self.sources
        return [held.alarms[place] for place in held.of_sources] if same else None

    @property
    def is_scanned(self) -> bool:
        """Whether detectors have to look at it: nothing that they see is in an audit."""
        return not self.scan or self.held.scan.made_of != self.scan


class _Keeping(Struct, frozen=True):
    """What is kept of transcripts that are read to look them over."""

    process: int
    """Id of the process that keeps it."""
    of_copies: bool
    """Whether its copies read as well."""
    runs: frozenset[str]
    """Ids of the runs."""
    ahead: Ahead

    def of(self, run: Evidence) -> list[Event] | None:
        """Where what a transcript says is kept; None where it is not."""
        wanted = self.of_copies or os.getpid() == self.process
        return [] if wanted and run.stored.run.id in self.runs else None

    def packed(self, run_id: str) -> Place | None:
        """Where a copy of the process has packed what it kept of a run."""
        of_copy = os.getpid() != self.process and run_id in self.ahead.held
        return self.ahead.pack(run_id) if of_copy else None


class _Looked(Struct, frozen=True):
    """What whoever looked a run over tells."""

    noticed: Noticed
    packed: Place | None = None
    """Where its transcript is, where a copy of this process read it."""


def _load(scanned: Sequence[_Work]) -> None:
    """Load what looks runs over, once for all copies of this process."""
    if scanned:
        alarms.load(sources=any(one.run.has_sources and one.known is None for one in scanned))
    for harness in {work.run.stored.run.harness for work in scanned}:
        module_of(harness)


def _size(work: _Work) -> int:
    return work.run.stored.transcript_size


_LEAST, _FASTER = 6_000, 4
"""What the rest of a run weighs, and how much faster transcripts are looked over than shown."""


def _looked(keeping: _Keeping | None, work: _Work) -> _Looked:
    noticed = _noticed(work, keeping)
    return _Looked(noticed, keeping.packed(work.run.stored.run.id) if keeping else None)


def _noticed(work: _Work, keeping: _Keeping | None = None) -> Noticed:
    """What is found in a run now."""
    scan, reading = work.held.scan, work.held.reading
    if work.is_scanned:
        scan = _scanned(work, keeping)
    if not work.reading or reading.made_of != work.reading:
        reading = _read(work.run.stored, work.reading)
    return Noticed(scan, reading)


class _Afar(Struct, frozen=True):
    """Looks runs over where no file of them is seen but those that come with each."""

    problems: Mapping[str, StoredProblem]

    def do(self, told: _Work, folder: Path) -> Noticed:
        stored = told.run.stored.arrived(folder)
        problem = self.problems.get(stored.run.problem)
        return _noticed(
            structs.replace(told, run=structs.replace(told.run, stored=stored, problem=problem))
        )


def _errand(anew: Sequence[_Work], keeping: _Keeping | None) -> Errand[_Work, _Looked]:
    def afar() -> _Afar:
        return _Afar({work.run.problem.id: work.run.problem for work in anew if work.run.problem})

    def parcel(work: _Work) -> Parcel:
        stored = work.run.stored
        told = structs.replace(
            work, run=structs.replace(work.run, stored=stored.sent(), problem=None, shared={})
        )
        return Parcel(told, [file.at for file in stored.files])

    here = partial(_looked, keeping)
    return Errand(here, afar, lambda _: True, parcel, lambda _, given: _Looked(given))


def _unlooked(lost: Lost) -> Noticed:
    """What is known of a run that nobody could look over; the next build tries again."""
    why = f"the process that looked it over was {lost.why}"
    return Noticed(Scan("", failures=(why,)), Reading("", failures=(why,)))


def _scanned(work: _Work, keeping: _Keeping | None) -> Scan:
    told: list[str] = []
    # A view of its own: what detectors make of a run goes when they are done with it.
    told_to = keeping.of(work.run) if keeping else None
    run = structs.replace(work.run, shared={}, ends=[], told=told_to)
    of_sources = alarms.of_sources(run, told) if work.known is None else work.known
    sources = "" if told else work.sources
    found = alarms.scan(run, told, of_sources)
    theirs = {id(alarm) for alarm in of_sources}
    taken = alarms.fingerprints(run, told)
    run.forget()
    if run.told and keeping:
        keeping.ahead.read(run.stored, run.told)
    return Scan(
        work.scan, found, taken, tuple(told), "" if told else _digest(taken), sources,
        tuple(place for place, alarm in enumerate(found) if id(alarm) in theirs),
    )  # fmt: skip


def _digest(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()


def _read(stored: StoredRun, made_of: str) -> Reading:
    try:
        return Reading(made_of, proofs(stored))
    except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
        return Reading(made_of, failures=(failure_of(error),))


def _heaviest(found: Sequence[Alarm]) -> tuple[Alarm, ...]:
    return tuple(sorted(found, key=lambda alarm: -alarm.level.weight))


def _has_failed(noticed: Noticed) -> bool:
    return bool(noticed.scan.failures or noticed.reading.failures)


def _failures(noticed: Noticed) -> list[str]:
    scan = [f"{_NOT_ALL}: {told}" for told in noticed.scan.failures]
    return scan + [f"its quotes were not proven: {told}" for told in noticed.reading.failures]


def _failed(path: str, failure: str) -> Finding:
    return Finding(Severity.ERROR, path, failure)
