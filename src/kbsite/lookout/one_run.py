"""One run that has to be looked over: by this process, a copy of it, or a node of a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from kbsite import alarms
from kbsite.ahead import Ahead
from kbsite.alarms.evidence import Evidence
from kbsite.engines import Errand, Lost, Parcel
from kbsite.fold.aside import Place
from kbsite.harnesses import module_of
from kbsite.lookout.noticed import Noticed, Reading, Scan
from kbsite.model.alarm import Alarm
from kbsite.model.event import Event
from kbsite.model.finding import failure_of
from kbsite.proofs import proofs
from kbsite.standing import digest
from kbsite.store.files import sent_along
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun


class Case(Struct, frozen=True):
    """A run that has to be looked over, and what is known of it."""

    run: Evidence
    held: Noticed
    """What was found in it the last time."""
    scan: str
    """What its `Scan` will be made of; likewise below."""
    reading: str
    sources: str

    @property
    def known(self) -> list[Alarm] | None:
        """What detectors of sources found in what they would find now; None if nobody knows."""
        held = self.held.scan
        same = self.sources and held.sources == self.sources
        return [held.alarms[place] for place in held.of_sources] if same else None

    @property
    def size(self) -> int:
        """Bytes of its transcripts."""
        return self.run.stored.transcript_size

    @property
    def weight(self) -> int:
        """How much there is to do, in bytes of a transcript that is shown."""
        return _LEAST + self.size // _FASTER

    @property
    def is_scanned(self) -> bool:
        """Whether detectors have to look at it: nothing that they see is in an audit."""
        return not self.scan or self.held.scan.made_of != self.scan


_LEAST, _FASTER = 6_000, 4
"""What the rest of a run weighs, and how much faster transcripts are looked over than shown."""


class Keeping(Struct, frozen=True):
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


class LookedOver(Struct, frozen=True):
    """What whoever looked a run over tells."""

    noticed: Noticed
    packed: Place | None = None
    """Where its transcript is, where a copy of this process read it."""


def load(scanned: Sequence[Case]) -> None:
    """Load what looks runs over, once for all copies of this process."""
    if scanned:
        alarms.load(sources=any(one.run.has_sources and one.known is None for one in scanned))
    for harness in {case.run.stored.run.harness for case in scanned}:
        module_of(harness)


def _looked(keeping: Keeping | None, case: Case) -> LookedOver:
    noticed = _noticed(case, keeping)
    return LookedOver(noticed, keeping.packed(case.run.stored.run.id) if keeping else None)


def _noticed(case: Case, keeping: Keeping | None = None) -> Noticed:
    """What is found in a run now."""
    scan, reading = case.held.scan, case.held.reading
    if case.is_scanned:
        scan = _scanned(case, keeping)
    if not case.reading or reading.made_of != case.reading:
        reading = _read(case.run.stored, case.reading)
    return Noticed(scan, reading)


class _Afar(Struct, frozen=True):
    """Looks runs over where no file of them is seen but those that come with each."""

    problems: Mapping[str, StoredProblem]

    def do(self, told: Case, folder: Path) -> Noticed:
        stored = told.run.stored.arrived(folder)
        problem = self.problems.get(stored.run.problem)
        return _noticed(
            structs.replace(told, run=structs.replace(told.run, stored=stored, problem=problem))
        )


def errand(anew: Sequence[Case], keeping: Keeping | None) -> Errand[Case, LookedOver]:
    """How runs are looked over, by whichever engine."""

    def afar() -> _Afar:
        return _Afar({case.run.problem.id: case.run.problem for case in anew if case.run.problem})

    def parcel(case: Case) -> Parcel:
        stored = case.run.stored
        told = structs.replace(
            case, run=structs.replace(case.run, stored=stored.sent(), problem=None, shared={})
        )
        return Parcel(told, sent_along(stored.files))

    here = partial(_looked, keeping)
    return Errand(here, afar, lambda _: True, parcel, lambda _, given: LookedOver(given))


def unlooked(lost: Lost) -> Noticed:
    """What is known of a run that nobody could look over; the next build tries again."""
    why = f"the process that looked it over was {lost.why}"
    return Noticed(Scan("", failures=(why,)), Reading("", failures=(why,)))


def _scanned(case: Case, keeping: Keeping | None) -> Scan:
    told: list[str] = []
    # A view of its own: what detectors make of a run goes when they are done with it.
    told_to = keeping.of(case.run) if keeping else None
    run = structs.replace(case.run, shared={}, ends=[], told=told_to)
    of_sources = alarms.of_sources(run, told) if case.known is None else case.known
    sources = "" if told else case.sources
    found = alarms.scan(run, told, of_sources)
    theirs = {id(alarm) for alarm in of_sources}
    taken = alarms.fingerprints(run, told)
    run.forget()
    if run.told and keeping:
        keeping.ahead.read(run.stored, run.told)
    return Scan(
        case.scan, found, taken, tuple(told), "" if told else digest(taken), sources,
        tuple(place for place, alarm in enumerate(found) if id(alarm) in theirs),
    )  # fmt: skip


def _read(stored: StoredRun, made_of: str) -> Reading:
    try:
        return Reading(made_of, proofs(stored))
    except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
        return Reading(made_of, failures=(failure_of(error),))
