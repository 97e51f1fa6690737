"""What machines find in runs before a person does: alarms, and quotes that are proven or are not.

A run is looked over again when what it was looked over for has changed, and only then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from kbsite import alarms
from kbsite.alarms import Fingerprint
from kbsite.alarms.evidence import Evidence
from kbsite.engines import Engine, Here, Lost
from kbsite.model.alarm import Alarm
from kbsite.model.finding import Finding, Severity, one_line
from kbsite.model.proof import Proof
from kbsite.proofs import proofs
from kbsite.store.inputs import Input, digest_of
from kbsite.store.runs import AUDIT, StoredRun

Tick = Callable[[str, int, int], None]
"""Told what has been done, how many things are done, and how many there are."""

LONG = 1_000_000
"""Bytes of transcripts that take long enough to have something else done meanwhile."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What detectors found in a run."""

    made_of: str
    """Digest of all that they looked at; empty where that is not known."""
    alarms: tuple[Alarm, ...] = ()
    fingerprints: tuple[Fingerprint, ...] = ()
    failures: tuple[str, ...] = ()
    prints: str = ""
    """Digest of the fingerprints; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of the quotes of a run's audit."""

    made_of: str
    """Digest of the audit and all that it may quote; empty where that is not known."""
    proofs: tuple[Proof, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noticed:
    """All that was found in a run."""

    scan: Scan
    reading: Reading


@dataclass(frozen=True, slots=True)
class Across:
    """What comparing all runs found."""

    made_of: str = ""
    """Digest of all that was compared; empty where that is not known."""
    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was found in all runs."""

    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run, what weighs most first; only of runs with any."""
    proofs: Mapping[str, tuple[Proof, ...]] = field(default_factory=dict)
    """By id of run, in the order of the quotes; only of runs with any."""
    findings: tuple[Finding, ...] = ()
    """What could not be looked at."""
    noticed: Mapping[str, Noticed] = field(default_factory=dict)
    """By id of run, for the next time."""
    across: Across = Across()


@dataclass(frozen=True, slots=True)
class Lookout:
    """Looks runs over, but for those that are what they were."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    """The files of the runs, by absolute path; a run with none of them is always looked over."""
    before: Mapping[str, Noticed] = field(default_factory=dict)
    """What the same code found the last time."""
    compared: Across = Across()
    """What comparing all runs found the last time."""
    engine: Engine = field(default_factory=Here)
    """Who looks."""
    meanwhile: Callable[[StoredRun | None], None] | None = None
    """What there is to do while others look; with a long run that they have, if a core is left."""

    def look(self, runs: Sequence[Evidence], tick: Tick | None = None) -> Sighting:
        """What there is to find in the runs of a site; each that is looked over is told."""
        noticed = self._noticed(runs, tick)
        told: list[str] = []
        across = self._across(noticed, told)
        found = {
            run_id: _heaviest([*one.scan.alarms, *across.alarms.get(run_id, ())])
            for run_id, one in noticed.items()
        }
        findings = [
            _failed(str(run.stored.folder), failure)
            for run in runs
            for failure in _failures(noticed[run.stored.run.id])
        ]
        return Sighting(
            alarms={run_id: held for run_id, held in found.items() if held},
            proofs={run: one.reading.proofs for run, one in noticed.items() if one.reading.proofs},
            findings=(*findings, *(_failed("runs", f"{_NOT_ALL}: {one}") for one in told)),
            noticed=noticed,
            across=across,
        )

    def _across(self, noticed: Mapping[str, Noticed], told: list[str]) -> Across:
        """What comparing the runs finds: what it found the last time if they are what they were."""
        prints = [(run_id, one.scan.prints) for run_id, one in sorted(noticed.items())]
        known = all(taken for _, taken in prints)
        key = _digest(prints) if known else ""
        if key and self.compared.made_of == key:
            return self.compared
        looked = {run_id: one.scan for run_id, one in noticed.items() if one.scan.fingerprints}
        taken = {run_id: scan.fingerprints for run_id, scan in looked.items()}
        found = dict(alarms.compare(taken, told))
        return Across("" if told else key, found)

    def _noticed(self, runs: Sequence[Evidence], tick: Tick | None) -> dict[str, Noticed]:
        """What was found in each run, now or the last time."""
        found: dict[str, Noticed] = {}
        anew = []
        for run in runs:
            scan, reading = self._keys(run)
            held = self.before.get(run.stored.run.id, _UNKNOWN)
            found[run.stored.run.id] = held
            if not scan or held.scan.made_of != scan or held.reading.made_of != reading:
                anew.append(_Work(run, held, scan, reading))
        looked: dict[str, Noticed] = {}

        def told(number: int, given: Noticed | Lost) -> None:
            run_id = anew[number].run.stored.run.id
            looked[run_id] = _unlooked(given) if isinstance(given, Lost) else given
            if tick:
                tick(run_id, len(looked), len(anew))

        def meanwhile(cores: int) -> None:
            longest = max(anew, key=_size)
            if self.meanwhile:
                taken = cores and _size(longest) >= LONG
                self.meanwhile(longest.run.stored if taken else None)

        if anew:
            alarms.load()
        weights = [_LEAST + _size(work) // _FASTER for work in anew]
        self.engine.each(_noticed, anew, weights, told, meanwhile)
        return found | looked

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


_NOT_ALL = "not all alarms could be looked for"

_UNKNOWN = Noticed(Scan(""), Reading(""))


@dataclass(frozen=True, slots=True)
class _Work:
    """A run that has to be looked over, and what is known of it."""

    run: Evidence
    held: Noticed
    scan: str
    reading: str


def _size(work: _Work) -> int:
    return sum(file.size for file in work.run.stored.transcripts)


_LEAST, _FASTER = 6_000, 4
"""What the rest of a run weighs, and how much faster transcripts are looked over than shown."""


def _noticed(work: _Work) -> Noticed:
    """What is found in a run now."""
    scan, reading = work.held.scan, work.held.reading
    if not work.scan or scan.made_of != work.scan:
        scan = _scanned(work.run, work.scan)
    if not work.reading or reading.made_of != work.reading:
        reading = _read(work.run.stored, work.reading)
    return Noticed(scan, reading)


def _unlooked(lost: Lost) -> Noticed:
    """What is known of a run that nobody could look over; the next build tries again."""
    why = f"the process that looked it over was {lost.why}"
    return Noticed(Scan("", failures=(why,)), Reading("", failures=(why,)))


def _scanned(run: Evidence, made_of: str) -> Scan:
    told: list[str] = []
    # A view of its own: what detectors make of a run goes when they are done with it.
    run = replace(run, shared={})
    found = alarms.scan(run, told)
    taken = alarms.fingerprints(run, told)
    return Scan(made_of, found, taken, tuple(told), "" if told else _digest(taken))


def _digest(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()


def _read(stored: StoredRun, made_of: str) -> Reading:
    try:
        return Reading(made_of, proofs(stored))
    except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
        return Reading(made_of, failures=(one_line(f"{type(error).__name__}: {error}"),))


def _heaviest(found: Sequence[Alarm]) -> tuple[Alarm, ...]:
    return tuple(sorted(found, key=lambda alarm: -alarm.level.weight))


def _failures(noticed: Noticed) -> list[str]:
    scan = [f"{_NOT_ALL}: {told}" for told in noticed.scan.failures]
    return scan + [f"its quotes were not proven: {told}" for told in noticed.reading.failures]


def _failed(path: str, failure: str) -> Finding:
    return Finding(Severity.ERROR, path, failure)
