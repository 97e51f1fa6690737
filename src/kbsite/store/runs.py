"""Run directories: reading them, and writing them so that a run is whole or not there.

`runs/<board>/<run-id>/` holds run.json, metrics.json, audit.yaml, transcript/, solution.py, files/,
snapshots/, samples.jsonl, check.log, benchmark.log and, written last, manifest.json.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from kbsite.errors import ENTERABLE, InputError, UsageError
from kbsite.model.audit import Audit
from kbsite.model.config import Config
from kbsite.model.finding import Finding, Severity
from kbsite.model.floor import Floor, Floors
from kbsite.model.grade import Metrics
from kbsite.model.redaction import Hidden
from kbsite.model.run import FORMAT, Run
from kbsite.model.status import EndReason, Status
from kbsite.store.at_once import root
from kbsite.store.files import (
    HERE,
    Refused,
    Stored,
    arrived,
    contents,
    digest,
    linked,
    not_read,
    numbered,
    within,
)
from kbsite.store.folders import PARTIAL, sync
from kbsite.store.parsing import InvalidFileError, invalid, read_text
from kbsite.store.places import line_of, lines_of
from kbsite.store.records import json_record, yaml_record
from kbsite.store.writing import json_text, write_text

RUN = "run.json"
METRICS = "metrics.json"
AUDIT = "audit.yaml"
MANIFEST = "manifest.json"
SOLUTION = "solution.py"
TRANSCRIPT = "transcript/"
SIDECARS = "files/"
FLOORS = "floors.json"
LOGS = ("check.log", "benchmark.log", "transcript/stderr.log")

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""An id that folders and files of the site can be called by, with what is put behind it."""

UNGRADED = Metrics(format=FORMAT, status=Status.UNGRADED)
"""The grade of a run that has none."""


class StoredRun(Struct, frozen=True, kw_only=True):
    """A run as it lies on disk. The transcript is read when its page is made, not before."""

    folder: Path
    run: Run
    metrics: Metrics
    audit: Audit | None
    files: tuple[Stored, ...]
    findings: tuple[Finding, ...]
    says: str = ""
    """Digest of all that the site shows of its files; empty where that is not known."""
    unaudited: str = ""
    """The same without its audit."""
    untold: str = ""
    """The same without what its transcript says."""

    @property
    def transcripts(self) -> list[Stored]:
        """The files under transcript/, named from there."""
        return [
            replace(file, name=file.name.removeprefix(TRANSCRIPT))
            for file in self.files
            if file.name.startswith(TRANSCRIPT)
        ]

    @property
    def transcript_size(self) -> int:
        """Bytes of the files under transcript/."""
        return sum([file.size for file in self.files if file.name.startswith(TRANSCRIPT)])

    def file(self, name: str) -> Stored | None:
        """The file of this name, if the run has it."""
        return next((file for file in self.files if file.name == name), None)

    def sent(self) -> StoredRun:
        """The run as it is sent to where nothing of this disk is seen."""
        return structs.replace(self, folder=Path(self.run.id), files=numbered(self.files))

    def arrived(self, folder: Path) -> StoredRun:
        """A run that was sent, whose files lie in a folder."""
        return structs.replace(self, folder=folder, files=arrived(self.files, folder))


class Manifest(Struct, frozen=True):
    """manifest.json: the SHA-256 of every file but audit.yaml."""

    format: Literal[1]
    files: Mapping[str, str]


def run_folders(runs: Path, still: Container[str] = frozenset()) -> Iterator[Path]:
    """Every folder below `runs` that is, or wants to be, a run directory, in order of path.

    None if `runs` is not there. Those that are `still` such folders are not looked into. One that
    cannot be listed, a board's too, is among them; OSError only where that is `runs` itself.
    """
    root(str(runs))
    waiting = _folders(runs, _names(runs))
    while waiting:
        folder = waiting.pop()
        if str(folder) in still:
            yield folder
            continue
        try:
            names = _names(folder)
        except OSError:
            yield folder  # whoever reads it tells of it; the others are read all the same
            continue
        if is_partial(folder) or not OWN.isdisjoint(names):
            yield folder
        else:
            waiting += _folders(folder, names)


def finished_folders(runs: Path) -> Iterator[Path]:
    """Those of `run_folders` that nobody writes any more; OSError as there."""
    return (folder for folder in run_folders(runs) if not is_partial(folder))


OWN = {RUN, MANIFEST, METRICS, AUDIT}
"""What a folder is a run's by."""


def vanished(seen: Iterable[str], runs: Path, folders: Iterable[Path]) -> set[Path]:
    """The folders below `runs` in which files of runs were `seen`, and that are none of `folders`.

    Those within one of these are among them.
    """
    home, own = f"{runs.absolute()}/", tuple(f"/{name}" for name in OWN)
    there = {path.rpartition("/")[0] for path in seen if path.endswith(own)}
    others = there.difference(str(folder.absolute()) for folder in folders)
    return {Path(path) for path in others if path.startswith(home)}


def _names(folder: Path) -> dict[str, bool]:
    """What is in a folder, by name, with whether it is a folder itself and no link."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except (NotADirectoryError, FileNotFoundError):
        return {}


def _folders(folder: Path, names: Mapping[str, bool]) -> list[Path]:
    """The folders in a folder, the last one first; no hidden ones."""
    below = (name for name, is_folder in names.items() if is_folder and not name.startswith("."))
    # Paths are compared by their parts, of which these have but one that is not the same.
    return [folder / name for name in sorted(below, reverse=True)]


def linked_runs(runs: Path, folders: Iterable[Path]) -> Iterator[Finding]:
    """The links to folders where runs lie: what they lead to is no run here.

    `folders` are those that `run_folders` gives: nobody looks into them.
    """
    theirs = set(map(str, folders))
    waiting = [str(runs)]
    while waiting:
        # A folder that cannot be listed is told where its runs are looked for.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            shown = sorted((one for one in entries if one.name[0] != "."), key=lambda one: one.name)
            yield from (linked(Path(e.path)) for e in shown if e.is_symlink() and e.is_dir())
            below = (one.path for one in reversed(shown) if one.is_dir(follow_symlinks=False))
            waiting += [path for path in below if path not in theirs]


def spelled(run_id: str) -> str:
    """What the ids have in common that some file systems take for one: they know no capitals."""
    return run_id.casefold()


def told_twice(run_id: str, first: Path) -> str:
    """What is wrong with a run of which another one has the id; `first` is that one's folder."""
    but = "" if first.name == run_id else " but for capitals, which some file systems take for one"
    return f"the run in {first} has the same id{but}; remove one of them, or import it anew"


def is_run(folder: Path) -> bool:
    """Whether a folder is, or wants to be, a run directory."""
    # A folder that may not be listed has others in it that may be.
    return is_partial(folder) or any(os.path.lexists(folder / name) for name in OWN)


def is_partial(folder: Path) -> bool:
    """Whether a folder holds a run that is still written, or was never completed."""
    return folder.name.endswith(PARTIAL)


_UNFINISHED = (
    "not completed, and left out: it is still written, or was broken off; let a sweep or"
    " an import go on with it, or delete the folder if none does"
)


def unfinished(folder: Path) -> Finding:
    """What there is to say of a folder that holds no whole run yet: nothing is wrong with it."""
    return Finding(Severity.WARNING, str(folder), _UNFINISHED)


def read_run(
    folder: Path,
    hidden: Hidden = Hidden(),  # noqa: B008 - frozen
    listed: tuple[list[Stored], list[Refused]] | None = None,
) -> StoredRun:
    """The run in a folder, without what is hidden of it; `listed` is what there is to read of it.

    InvalidFileError where run.json cannot be used. Without `listed`, files that no site shows
    unless it says so are not read: those of more bytes than kbsite.yaml allows if it is silent.

    A grade or audit that cannot be used is left out and named in the findings. The id is always the
    folder's name, and the other ids are safe as parts of a path, whatever run.json says.
    """
    if is_partial(folder):
        raise invalid(_UNFINISHED, folder)
    held, refused = listed or within(Config().most_file_bytes, contents(folder))
    _refuse_unlisted(folder, refused)
    own = hidden.files
    run = json_record(folder / RUN, Run, hidden=own.get(RUN, ()))
    _refuse_unsafe(run, folder / RUN)
    files = sorted((_shown(file, hidden) for file in held), key=lambda file: file.name)
    findings = [*not_read(folder, refused)]
    if run.id != folder.name:
        message = f"expected the folder's name, {folder.name!r}, got {run.id!r}"
        line = line_of(read_text(folder / RUN), ".id")
        findings.append(Finding(Severity.ERROR, str(folder / RUN), message, line, "id"))
        run = replace(run, id=folder.name)
    names = {file.name for file in files}
    if MANIFEST not in names and not _is_shut(MANIFEST, refused):
        message = "missing; the run is incomplete"
        findings.append(Finding(Severity.ERROR, str(folder / MANIFEST), message))
    metrics, audit = _without_grade(run, names), None
    try:
        if METRICS in names:
            metrics = json_record(folder / METRICS, Metrics, hidden=own.get(METRICS, ()))
    except InvalidFileError as error:
        findings += as_findings(error)
    try:
        audit = yaml_record(folder / AUDIT, Audit, own.get(AUDIT, ())) if AUDIT in names else None
    except InvalidFileError as error:
        findings += as_findings(error)
    return StoredRun(
        folder=folder, run=run, metrics=metrics, audit=audit, files=tuple(files),
        findings=tuple(findings),
    )  # fmt: skip


def _without_grade(run: Run, names: set[str]) -> Metrics:
    """What stands for a grade that is not there: that none can be, or that nobody made one."""
    left = SOLUTION in names
    if run.is_floor or not run.broken_off(solution=left):
        return UNGRADED
    if left and run.end_reason is not EndReason.PROVIDER:
        return UNGRADED  # records of others tell no tokens, and their model may have answered
    return Metrics(format=FORMAT, status=Status.INFRA)


def _shown(file: Stored, hidden: Hidden) -> Stored:
    """A file as the site shows it."""
    spans, name = hidden.files.get(file.name, ()), hidden.names.get(file.name, file.name)
    if not spans and name == file.name:
        return file
    size = hidden.sizes.get(file.name, file.size)
    return replace(file, name=name, hidden=spans, size=size)


def _is_shut(name: str, refused: Iterable[Refused]) -> bool:
    """Whether a file is there, and nobody can read it."""
    return any(one.name == name and one.severity is Severity.ERROR for one in refused)


def _refuse_unlisted(folder: Path, refused: Iterable[Refused]) -> None:
    """Raise InvalidFileError where nobody sees what a folder holds: one run, or all of a board."""
    for one in refused:
        if one.name == HERE:
            cure = f"no run in it is read: {ENTERABLE}, or move it elsewhere"
            raise invalid(f"{one.reason}; {cure}", folder)


def _refuse_unsafe(run: Run, path: Path) -> None:
    """Raise InvalidFileError where an id of a run could lead out of a folder of the site."""
    unsafe = [
        (key, value)
        for key in ("board", "problem", "harness", "hardware")
        if (value := getattr(run, key)) is not None and not _SAFE.fullmatch(value)
    ]
    if unsafe:
        lines = lines_of(read_text(path), [f".{key}" for key, _ in unsafe])
        errors = [
            InputError(f"expected at most 200 letters, digits and . _ -, got {value[:300]!r}",
                       path=path, line=line, key=key)
            for (key, value), line in zip(unsafe, lines, strict=True)
        ]  # fmt: skip
        raise InvalidFileError(errors)


def as_findings(error: InvalidFileError) -> list[Finding]:
    """What is wrong with a file, as findings of severity error."""
    return [
        Finding(Severity.ERROR, str(one.path), one.message, one.line, one.key)
        for one in error.errors
    ]


def manifest_findings(
    stored: StoredRun, every: Iterable[Stored] | None = None, most: int = sys.maxsize
) -> list[Finding]:
    """Where the files of a run differ from its manifest; none of more than `most` bytes is read.

    `every` are all of its files, where it was read without some.
    """
    path = stored.folder / MANIFEST
    if stored.file(MANIFEST) is None:
        return []
    try:
        listed = dict(json_record(path, Manifest, any_text=True).files)
    except InvalidFileError as error:
        return as_findings(error)
    found: list[Finding] = []
    for file in stored.files if every is None else every:
        if file.name in (AUDIT, MANIFEST):
            continue
        found += _held_against(listed.pop(file.name, None), file, most)
    for name in sorted(listed):
        message = "missing; the manifest lists it"
        found.append(Finding(Severity.ERROR, str(stored.folder / name), message))
    return found


def _held_against(expected: str | None, file: Stored, most: int) -> Iterator[Finding]:
    if expected is not None and file.size > most:
        message = f"not held against the manifest: {file.size} bytes are more than are read"
        cure = "raise most_file_bytes of kbsite.yaml to have it read"
        yield Finding(Severity.WARNING, file.at, f"{message}; {cure}")
        return
    if message := _changed(file.path, expected):
        yield Finding(Severity.ERROR, file.at, message)


def _changed(path: Path, expected: str | None) -> str:
    """How a file differs from the manifest, which holds `expected`; empty if it does not."""
    if expected is None:
        return "not in the manifest; it was added after the run was completed"
    try:
        found = digest(path)
    except OSError:
        return ""  # it is told with the run that it cannot be read
    changed = f"changed after the run was completed; expected SHA-256 {expected}, got {found}"
    return changed if found != expected else ""


def complete(partial: Path, run: Run, metrics: Metrics | None) -> Path:
    """Write the records and last the manifest, then give the folder its name, which is returned."""
    write_text(partial / RUN, json_text(run))
    if metrics is not None:
        write_text(partial / METRICS, json_text(metrics))
    hashes = {file.name: digest(file.path) for file in contents(partial)[0] if file.name != AUDIT}
    write_text(partial / MANIFEST, json_text(Manifest(FORMAT, hashes)))
    sync(partial)
    folder = partial.with_name(run.id)
    if folder.exists():
        raise UsageError(f"{folder}: the run is already there; {partial} stays as it is")
    partial.rename(folder)
    sync(folder.parent)
    return folder


def read_floors(board: Path) -> tuple[Floor, ...]:
    """The floors of a board's folder; none if it has no floors.json."""
    path = board / FLOORS
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        pass  # reading it says why it cannot be
    return json_record(path, Floors).floors
