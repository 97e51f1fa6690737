"""Samples of Inspect's logs as run directories: a run of each sample and epoch.

A log holds all samples of a task. Each run keeps of it an archive of the same format with the
log's head and its one sample; what the head says of all samples together is left out of that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kbsite.errors import InputError, UsageError
from kbsite.harnesses import inspect
from kbsite.harnesses.inspect.held import Head, Lost, One, held
from kbsite.importers.inspect_grade import metrics
from kbsite.importers.inspect_run import (
    FILE,
    HARNESS,
    OF_LOG,
    Sampling,
    Wanted,
    holds,
    write_log,
)
from kbsite.importers.recognition import recognised
from kbsite.importers.run_ids import (
    NO_PROBLEM,
    board_name,
    free_run_id,
    imported,
    is_safe,
)
from kbsite.importers.transcript import copy
from kbsite.model.finding import Severity, one_line
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.files import Stored, contents
from kbsite.store.folders import filled, make_folder, new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.run_folders import SOLUTION, TRANSCRIPT
from kbsite.transcripts import transcript

Held = Mapping[str, object]

_NAMED = 10
"""Samples that an error names; a log may have thousands."""
_ENDINGS = (".eval", ".json")

EMPTY = "no sample in it"
NO_LOG = "left out: no log of Inspect's, or one that is cut or broken"


@dataclass(frozen=True, slots=True)
class Sampled:
    """What came of a sample, or what is told of a file that may be a log."""

    name: str
    folder: Path | None
    """The run; None if there is none."""
    there: bool = False
    """Whether an earlier import made the run."""
    why: str = ""
    """Why there is none."""
    severity: Severity = Severity.ERROR
    """How much it matters that there is none."""
    differs: bool = False
    """Whether the run that is there holds something else of the sample, as before it was scored."""
    unsolved: bool = False
    """Whether no solution of it was found where solutions are."""


@dataclass(slots=True)
class _Known:
    """The runs that were made of samples."""

    runs: dict[str, Path]
    """By origin."""
    named: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))
    """By the name of the sample, whichever log had it."""

    def __post_init__(self) -> None:
        for origin, folder in self.runs.items():
            self.named[origin.rpartition(OF_LOG)[0]].append(folder)

    def add(self, sampling: Sampling, folder: Path) -> None:
        """Take in the run of a sample."""
        self.runs[sampling.origin] = folder
        self.named[sampling.name].append(folder)

    def run(self, sampling: Sampling) -> tuple[Path | None, bool]:
        """The run that a sample has already, and whether that holds something else of it."""
        folder = self.runs.get(sampling.origin)
        if folder is not None:
            return folder, not holds(folder / TRANSCRIPT / FILE, sampling)
        if sampling.number > 1 or sampling.value.get("uuid"):
            # An evaluation that is tried again takes over the samples that were done.
            for other in self.named.get(sampling.name, [])[:_NAMED]:
                if holds(other / TRANSCRIPT / FILE, sampling):
                    return other, False
        return None, False


@dataclass(slots=True)
class _Log:
    """A log while its samples become runs."""

    path: Path
    out: Path
    board: str
    wanted: Wanted
    known: _Known
    head: Held = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    """Ids of the samples that it has."""
    epochs: dict[str, None] = field(default_factory=dict)
    """Repetitions of those that are wanted, but for the repetition."""
    called: Counter[str] = field(default_factory=Counter)
    """How many samples it has by name: nothing keeps two from having one."""

    def outcomes(self) -> Iterator[Sampled]:
        """What comes of each sample that is wanted, and of each that cannot be read."""
        whole = True
        with self.path.open("rb") as stream:
            for item in held(stream):
                if isinstance(item, Head):
                    self.head = self.head or item.value
                elif isinstance(item, Lost):
                    whole = False
                    yield Sampled(f"{self.path}: {item.name}", None, why=item.why)
                else:
                    yield from self._outcome(item)
        if whole and not self.seen:
            yield Sampled(str(self.path), None, why=EMPTY, severity=Severity.WARNING)

    def _outcome(self, item: One) -> Iterator[Sampled]:
        sampling = Sampling(self.head, item.value, self.board, self.wanted)
        self.seen.setdefault(sampling.id)
        self.called[sampling.name] += 1
        if sampling.of_wanted:
            self.epochs.setdefault(sampling.epoch)
        if not sampling.wanted_too:
            return
        sampling = replace(sampling, number=self.called[sampling.name])
        again = f", number {sampling.number}" if sampling.number > 1 else ""
        told = f"{self.path}: sample {sampling.id}, epoch {sampling.epoch}{again}"
        there, differs = self.known.run(sampling)
        if there is not None:
            yield Sampled(told, there, there=True, differs=differs)
            return
        if self.wanted.scorer is not None and sampling.lacks(self.wanted.scorer):
            scores = f"there are: {_some(dict.fromkeys(sampling.scorers))}"
            why = f"no score of it is called {self.wanted.scorer!r}; {scores}"
            yield Sampled(told, None, why=why)
            return
        try:
            folder = self._made(sampling)
        except UsageError as error:
            yield Sampled(told, None, why=str(error))
        else:
            self.known.add(sampling, folder)
            lacks = self.wanted.solutions is not None and sampling.solution is None
            yield Sampled(told, folder, unsolved=lacks)

    def _made(self, sampling: Sampling) -> Path:
        run_id = free_run_id(self.out, sampling.started, HARNESS, sampling.model, sampling.problem)
        make_folder(self.out)
        partial = new_run_folder(self.out, run_id)
        with filled(partial):
            path = partial / TRANSCRIPT / FILE
            write_log(path, sampling)
            if solution := sampling.solution:
                copy(solution, partial / SOLUTION)
            shown = transcript(HARNESS, [Stored(FILE, str(path), path.stat().st_size)])
            assert shown is not None  # it was written as what its harness reads
            grade = metrics(sampling.value, self.wanted.scorer)
            return complete(partial, sampling.run(run_id, shown), grade)


def import_samples(sources: Sequence[Path], out: Path, wanted: Wanted) -> Iterator[Sampled]:
    """What comes of each sample of the logs in `sources`, files and folders, as a run below `out`.

    UsageError where a source holds no log, or none has a sample that is wanted.
    """
    _refuse_odd(wanted)
    board, known = board_name(out), _Known(imported(out))
    epochs: dict[str, None] = {}
    seen: dict[str, None] = {}
    logs: dict[Path, None] = {}
    for source in sources:
        found, told = _logs(source)
        logs.update(dict.fromkeys(found))
        yield from told
    for path in logs:
        log = _Log(path, out, board, wanted, known)
        try:
            yield from log.outcomes()
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            raise InputError(message, path=error.filename or path) from error
        seen.update(log.seen)
        epochs.update(log.epochs)
    if wanted.epoch is not None and epochs and str(wanted.epoch) not in epochs:
        why = f"no sample that is wanted has this epoch; there are {_some(epochs)}"
        yield Sampled(f"--epoch {wanted.epoch}", None, why=why)
    for name in wanted.samples:
        if name not in seen:
            why = f"no log has a sample of this id; there are {len(seen)}: {_some(seen)}"
            yield Sampled(f"--sample {name}", None, why=why)


def _refuse_odd(wanted: Wanted) -> None:
    """Raise UsageError where what is told of all samples could stand in none of their runs."""
    if wanted.hardware is not None and not is_slug(wanted.hardware):
        raise UsageError(f"{wanted.hardware!r} is no id of hardware: {SLUG_RULE}")
    if wanted.problem is not None and not is_safe(wanted.problem):
        raise UsageError(f"{wanted.problem!r} {NO_PROBLEM}")


def _logs(source: Path) -> tuple[list[Path], list[Sampled]]:
    """The logs that a source is or holds, and what is told of what may be others.

    UsageError where there is none.
    """
    # A pipe would be waited for, and what it holds is gone once somebody looked at it.
    asked, told = _within(source) if source.is_dir() else ([source] * source.is_file(), [])
    logs = [path for path in asked if any(recognised(path, f) for f in inspect.FORMATS)]
    if not logs:
        raise UsageError(f"{source}: no log of Inspect's (.eval or .json), or one that is cut")
    for path in sorted({*asked} - {*logs}):
        severity = Severity.ERROR if path.suffix == _ENDINGS[0] else Severity.WARNING
        told.append(Sampled(str(path), None, why=NO_LOG, severity=severity))
    return logs, told


def _within(folder: Path) -> tuple[list[Path], list[Sampled]]:
    """The files of a folder that may be logs, and what of it may be and is not read."""
    files, odd = contents(folder)
    told = [
        Sampled(str(folder / item.name), None, why=item.told, severity=item.severity)
        for item in odd
        if item.name.endswith(_ENDINGS) or item.severity is Severity.ERROR
    ]
    return [file.path for file in files if file.name.endswith(_ENDINGS)], told


def _some(names: Mapping[str, None]) -> str:
    more = ", …" if len(names) > _NAMED else ""
    return ", ".join(one_line(name) for name in [*names][:_NAMED]) + more
