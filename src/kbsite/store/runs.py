"""Run directories, read; `manifests` has how they are written whole, `run_folders` which they are.

`runs/<board>/<run-id>/` holds run.json, metrics.json, audit.yaml, transcript/, solution.py, files/,
snapshots/, samples.jsonl, check.log, benchmark.log and, written last, manifest.json.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from msgspec import Struct, structs

from kbsite.errors import ENTERABLE
from kbsite.model.audit import Audit
from kbsite.model.config import Config
from kbsite.model.finding import Finding, Severity
from kbsite.model.floor import Floor, Floors
from kbsite.model.grade import Metrics
from kbsite.model.redaction import Hidden
from kbsite.model.run import FORMAT, Run
from kbsite.model.status import EndReason, Status
from kbsite.store.files import (
    HERE,
    Refused,
    Stored,
    arrived,
    contents,
    not_read,
    numbered,
    within,
)
from kbsite.store.parsing import InvalidFileError, invalid, read_text
from kbsite.store.places import line_of
from kbsite.store.records import json_record, wrong_keys, yaml_record
from kbsite.store.run_folders import (
    AUDIT,
    FLOORS,
    MANIFEST,
    METRICS,
    RUN,
    SOLUTION,
    TRANSCRIPT,
    is_partial,
    unfinished,
    wrote_solution,
)

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
        raise invalid(unfinished(folder).message, folder)
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
        metrics = replace(UNGRADED, detail=_not_used(METRICS, error))
    try:
        audit = yaml_record(folder / AUDIT, Audit, own.get(AUDIT, ())) if AUDIT in names else None
    except InvalidFileError as error:
        findings += as_findings(error)
    return StoredRun(
        folder=folder, run=run, metrics=metrics, audit=audit, files=tuple(files),
        findings=tuple(findings),
    )  # fmt: skip


def _not_used(name: str, error: InvalidFileError) -> str:
    """Why a file of a run stands for nothing."""
    first = error.errors[0]
    where = f" line {first.line}" if first.line else ""
    key = f"{first.key}: " if first.key else ""
    return f"{name}{where} cannot be used: {key}{first.message}."


def _without_grade(run: Run, names: set[str]) -> Metrics:
    """What stands for a grade that is not there: that none can be, or that nobody made one."""
    if run.is_floor or not run.broken_off(solution=wrote_solution(names)):
        return UNGRADED
    if SOLUTION in names and run.end_reason is not EndReason.PROVIDER:
        return UNGRADED  # records of others tell no tokens, and their model may have answered
    return Metrics(format=FORMAT, status=Status.INFRA)


def _shown(file: Stored, hidden: Hidden) -> Stored:
    """A file as the site shows it."""
    spans, name = hidden.files.get(file.name, ()), hidden.names.get(file.name, file.name)
    if not spans and name == file.name:
        return file
    size = hidden.sizes.get(file.name, file.size)
    return replace(file, name=name, hidden=spans, size=size)


def fits_a_path(name: str) -> bool:
    """Whether folders and files of a site can be called by an id."""
    return _SAFE.fullmatch(name) is not None


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
        (key, f"expected at most 200 letters, digits and . _ -, got {value[:300]!r}")
        for key in ("board", "problem", "harness", "hardware")
        if (value := getattr(run, key)) is not None and not fits_a_path(value)
    ]
    if unsafe:
        raise wrong_keys(unsafe, path, read_text(path))


def as_findings(error: InvalidFileError) -> list[Finding]:
    """What is wrong with a file, as findings of severity error."""
    return [
        Finding(Severity.ERROR, str(one.path), one.message, one.line, one.key)
        for one in error.errors
    ]


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
