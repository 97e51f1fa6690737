"""manifest.json, by which a run is whole or not there, and what differs from it by now."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kbsite.errors import UsageError
from kbsite.model.counts import number_of
from kbsite.model.finding import Finding, Severity, one_line
from kbsite.model.grade import Metrics
from kbsite.model.run import FORMAT, Run
from kbsite.store.files import Refused, Stored, contents, digest
from kbsite.store.folders import sync
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import AUDIT, MANIFEST, METRICS, RUN
from kbsite.store.runs import StoredRun, as_findings
from kbsite.store.writing import json_text, write_text


class Manifest(Struct, frozen=True):
    """manifest.json: the SHA-256 of every file but audit.yaml."""

    format: Literal[1]
    files: Mapping[str, str]


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


def unsealed(folder: Path, listed: tuple[list[Stored], list[Refused]]) -> list[Finding]:
    """What a run's manifest tells that needs no file read: that it is none, or lists what is gone.

    `listed` is what there is of the run. That there is no manifest is told where the run is read.
    """
    there = {file.name for file in listed[0]}
    if MANIFEST not in there:
        return []
    path = folder / MANIFEST
    try:
        names = json_record(path, Manifest, any_text=True).files
    except InvalidFileError as error:
        return as_findings(error)
    told = tuple(one.name for one in listed[1])
    gone = sorted(one for one in names if one not in there and not one.startswith(told))
    more = sorted(there - {AUDIT, MANIFEST} - names.keys())
    found = []
    if gone:
        message = f"lists {_some(gone)} that are not there; copy the run again, whole"
        found.append(Finding(Severity.ERROR, str(path), message))
    if more:
        message = f"does not list {_some(more)}; move what came later out of the run"
        found.append(Finding(Severity.WARNING, str(path), message))
    return found


ADDED = "it was added after the run was completed; move it out of the run"
"""What is told of a file that a manifest does not list."""
_NAMED = 3
"""Files that are named; the others are counted."""


def _some(names: list[str]) -> str:
    rest = ", …" if len(names) > _NAMED else ""
    return one_line(f"{number_of(len(names), 'file')} ({', '.join(names[:_NAMED])}{rest})")


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
        return f"not in the manifest; {ADDED}"
    try:
        found = digest(path)
    except OSError:
        return ""  # it is told with the run that it cannot be read
    if found == expected:
        return ""
    return f"changed after the run was completed; expected SHA-256 {expected}, got {found}"


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
