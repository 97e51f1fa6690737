"""Runs as the last build read them, for the next one to read only those that changed.

What is hidden of a run is hidden here too: a run is known by all that decides that, and by its
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from kbsite.model.audit import Audit
from kbsite.model.finding import Finding
from kbsite.model.grade import Metrics
from kbsite.model.redaction import Hidden
from kbsite.model.run import Run
from kbsite.store.files import Stored
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun
from kbsite.store.told import read_told, write_told


class _Known(Struct, frozen=True):
    """A run as it was read."""

    made_of: str
    """Digest of its files, and of all that decides what is hidden of them."""
    says: str
    unaudited: str
    untold: str
    run: Run
    metrics: Metrics
    audit: Audit | None
    files: tuple[Stored, ...]
    findings: tuple[Finding, ...]


class _Told(Struct, frozen=True):
    code: str
    """Digest of the code that read them."""
    runs: dict[str, msgspec.Raw]
    """By folder."""
    scores: dict[str, int] = field(default_factory=dict)
    problems: dict[str, tuple[str, StoredProblem]] = field(default_factory=dict)


class KnownRuns(Struct):
    """What the same code read."""

    code: str
    """Digest of that code."""
    told: Mapping[str, msgspec.Raw] = field(default_factory=dict)
    held: dict[str, tuple[str, StoredRun, msgspec.Raw | None]] = field(default_factory=dict)
    """Those that were asked for or read, by folder: what of, and how they were told, if so."""
    strange: set[str] = field(default_factory=set)
    """Folders of runs that do not come back as they are: these are read each time."""
    scores: dict[str, int] = field(default_factory=dict)
    """What scores of rows and columns of boards said the last time, by their digest."""
    problems: dict[str, tuple[str, StoredProblem]] = field(default_factory=dict)
    """Problems by folder, each with the digest of its files."""

    def get(self, folder: Path, hidden: Hidden) -> StoredRun | None:
        """A run of which neither a file changed nor what is hidden of it; None if it is another."""
        held = self.held.get(str(folder))
        if held is None and str(folder) in self.told:
            held = self.held[str(folder)] = _taken(folder, self.told[str(folder)])
        return held[1] if held and hidden.made_of and held[0] == hidden.made_of else None

    def add(self, stored: StoredRun, hidden: Hidden) -> None:
        """Remember a run that was read, if it comes back as it is."""
        if not hidden.made_of:
            return
        folder = str(stored.folder)
        # How it is told is made again when it is written: copies of the process would hold it too.
        self.held[folder] = (hidden.made_of, stored, None)
        self.strange.discard(folder)
        try:
            if _taken(stored.folder, _telling(hidden.made_of, stored))[1] != stored:
                self.strange.add(folder)
        except (UnicodeEncodeError, msgspec.MsgspecError):
            # Bytes that are no UTF-8, numbers that JSON does not have.
            self.strange.add(folder)

    def problem(self, folder: Path, made_of: str) -> StoredProblem | None:
        """A problem of which no file changed; None if it is another."""
        held = self.problems.get(str(folder))
        return held[1] if held and made_of and held[0] == made_of else None

    def add_problem(self, folder: Path, made_of: str, problem: StoredProblem) -> None:
        """Remember a problem that was read, if it comes back as it is."""
        self.problems.pop(str(folder), None)
        # Bytes that are no UTF-8, numbers that JSON does not have.
        with suppress(UnicodeEncodeError, msgspec.MsgspecError):
            told = msgspec.json.decode(msgspec.json.encode(problem), type=StoredProblem)
            if made_of and told == problem:
                self.problems[str(folder)] = made_of, problem

    def keep_problems(self, folders: Iterable[Path]) -> None:
        """Forget all other problems."""
        kept = {str(folder) for folder in folders}
        self.problems = {name: held for name, held in self.problems.items() if name in kept}

    def keep(self, folders: Iterable[Path]) -> None:
        """Forget all other runs."""
        kept = {str(folder) for folder in folders}
        self.held = {folder: held for folder, held in self.held.items() if folder in kept}
        self.strange &= kept
        self.told = {}


def _telling(made_of: str, stored: StoredRun) -> msgspec.Raw:
    known = _Known(
        made_of, stored.says, stored.unaudited, stored.untold, stored.run, stored.metrics,
        stored.audit, stored.files, stored.findings,
    )  # fmt: skip
    return msgspec.Raw(msgspec.json.encode(known))


def _taken(folder: Path, raw: msgspec.Raw) -> tuple[str, StoredRun, msgspec.Raw]:
    known = _DECODER.decode(raw)
    stored = StoredRun(
        folder=folder, run=known.run, metrics=known.metrics, audit=known.audit,
        files=known.files, findings=known.findings, says=known.says, unaudited=known.unaudited,
        untold=known.untold,
    )  # fmt: skip
    return known.made_of, stored, raw


_DECODER = msgspec.json.Decoder(_Known)


def read_known(path: Path, code: str) -> KnownRuns:
    """What a file tells of runs that this code read; nothing where that cannot be read."""
    told = read_told(path, _Told)
    if told is None or told.code != code:
        return KnownRuns(code)
    return KnownRuns(code, told.runs, scores=told.scores, problems=told.problems)


def write_known(path: Path, known: KnownRuns) -> None:
    """Write down what was read; no secret is in it."""
    runs: dict[str, msgspec.Raw] = {}
    for folder, (made_of, stored, raw) in known.held.items():
        if folder not in known.strange:
            runs[folder] = raw or _telling(made_of, stored)
            known.held[folder] = (made_of, stored, runs[folder])
    write_told(path, _Told(known.code, runs, known.scores, known.problems))
