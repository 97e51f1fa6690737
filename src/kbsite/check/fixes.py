"""Quotes that cite another place than where they stand, and are made to cite that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kbsite.check.targets import Kind, target
from kbsite.errors import UsageError
from kbsite.model.finding import one_line
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs import proof, proofs
from kbsite.store.audits import set_event, set_lines
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import AUDIT, is_partial, run_folders
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import Settings, read_settings


@dataclass(frozen=True, slots=True)
class Fix:
    """What was changed in an audit.yaml."""

    path: str
    key: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """The change on one line."""
        return one_line(f"{self.path}: {self.key}: {self.before} is now {self.after}")


def fix(
    paths: Sequence[Path], settings: Settings | None = None, *, imported: bool = False
) -> Iterator[Fix]:
    """Let each quote that stands elsewhere in its file cite where it stands.

    The runs are those at `paths`, or all of the site; audits that others wrote are only touched
    where `imported` says so. A quote that is not proven after the change stays as it is, and so
    does all else in its audit.yaml. UsageError where a path is nothing that is checked.
    """
    if not paths and settings is None:
        raise UsageError("nothing to mend: name a run or a kbsite.yaml")
    found = dict.fromkeys(_folders(paths, settings))
    return (done for folder in found for done in _in_run(folder, imported=imported))


def _folders(paths: Sequence[Path], settings: Settings | None) -> Iterator[Path]:
    if not paths and settings is not None:
        yield from run_folders(settings.runs)
    for path in paths:
        one = target(path, settings)
        match one.kind:
            case Kind.RUN:
                yield one.path
            case Kind.RUNS:
                yield from run_folders(one.path)
            case Kind.SITE:
                yield from _of_site(one.path)
            case Kind.PROBLEM | Kind.PROBLEMS | Kind.HARDWARE:
                pass


def _of_site(path: Path) -> Iterator[Path]:
    try:
        yield from run_folders(read_settings(path).runs)
    except InvalidFileError:
        return  # told by the check that follows


def _in_run(folder: Path, *, imported: bool) -> Iterator[Fix]:
    if is_partial(folder):
        return
    try:
        stored = read_run(folder)
    except (InvalidFileError, OSError):
        return  # told by the check that follows
    if stored.audit is None or (stored.audit.origin and not imported):
        return
    for number, held in enumerate(proofs(stored)):
        if held.state is ProofState.ELSEWHERE:
            try:
                yield from _anew(stored, number, held)
            except (InvalidFileError, OSError):
                continue  # it is left to a person, and told by the check that follows


def _anew(stored: StoredRun, number: int, held: Proof) -> Iterator[Fix]:
    quote, path = held.quote, stored.folder / AUDIT
    right = replace(quote, event=held.event) if held.event else replace(quote, lines=held.lines)
    if not proof(stored, right).proven:
        return
    if held.event:
        set_event(path, number, held.event)
        yield Fix(str(path), f"quotes[{number}].event", quote.event, held.event)
    else:
        set_lines(path, number, held.lines)
        before, after = str(list(quote.lines)), str(list(held.lines))
        yield Fix(str(path), f"quotes[{number}].lines", before, after)
