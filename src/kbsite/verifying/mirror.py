"""The runs of a published site, as run directories that kbsite reads like any others."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kbsite.errors import FULL, MachineError
from kbsite.model.finding import Finding, Severity
from kbsite.model.redacted import RedactedFile, Redactions
from kbsite.pages.file_names import gzip_path, raw_path
from kbsite.store.files import Stored, digest
from kbsite.store.manifests import Manifest
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import AUDIT, MANIFEST, RUN
from kbsite.store.writing import write_bytes
from kbsite.verifying.places import Place, below
from kbsite.verifying.reported import faults

SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
"""What the id of a board, and of a problem, looks like: it names folders here."""

REDACTION = "data/redaction.json"
"""What the site tells of what is hidden of its runs."""

LISTED = "data/runs.json"
"""Where the ids of runs stand, for whoever cannot list files."""

_ELSEWHERE = "elsewhere"
"""Folder of runs whose board cannot be told."""


@dataclass(slots=True)
class Mirror:
    """A folder that takes up the runs of a site, and what was noticed on the way."""

    place: Place
    folder: Path
    redactions: Redactions
    findings: list[Finding] = field(default_factory=list)
    _covered: dict[str, dict[str, RedactedFile]] = field(init=False)
    """By run and file, what is told of those that are published with parts covered."""
    _names: dict[str, str] = field(default_factory=dict)
    """Where files of the folder stand in the site."""
    _runs: dict[str, str] = field(default_factory=dict)
    """Runs by their folder here."""
    _copies: set[str] = field(default_factory=set)
    """Compressed copies that were held against what they are of."""

    def __post_init__(self) -> None:
        self._covered = {}
        for one in self.redactions.files:
            held = self._covered.setdefault(one.run, {})
            if one.file in held:
                self._report(one, "", "is listed twice; expected once")
            held[one.file] = one

    def published(self, path: str) -> str:
        """Where a file of the folder, by its path here, stands in the site.

        A file that is missed was never taken: it would stand among its run's.
        """
        if path in self._names:
            return self._names[path]
        for own in Path(path).parents:
            run = self._runs.get(str(own))
            if run is not None:
                return raw_path(run, Path(path).relative_to(own).as_posix())
        return path

    def covered(self, run_id: str) -> Collection[str]:
        """The files of a run that are told to be published with parts covered."""
        return self._covered.get(run_id, {}).keys()

    def take(self, run_id: str) -> Path | None:
        """The folder of a run; None, and a finding, where the site has no such run."""
        where = raw_path(run_id, RUN)
        data = self.place.read(where) if _is_name(run_id) else None
        if data is None:
            self._say(where, "missing; the site lists a run of this id")
            return None
        own = self.folder / _board(data) / run_id
        self._put(own, run_id, RUN, data)
        self._names[str(own)] = f"runs/{run_id}"
        self._runs[str(own)] = run_id
        self._packed(run_id, RUN, data)
        for name in (MANIFEST, AUDIT):
            held = self.place.read(raw_path(run_id, name))
            if held is not None:
                self._put(own, run_id, name, held)
                self._packed(run_id, name, held)
        listed = self._listed(own)
        for name in listed:
            self._take_file(own, run_id, name)
        self._unlisted(run_id, listed)
        return own

    def _take_file(self, own: Path, run_id: str, name: str) -> None:
        self._names[str(own / name)] = raw_path(run_id, name)
        if name in (RUN, MANIFEST, AUDIT):
            return
        if not _inside(name):
            self._say(raw_path(run_id, MANIFEST), f"{name!r} names nothing within a run")
            return
        data = self.place.read(raw_path(run_id, name))
        if data is not None:
            self._put(own, run_id, name, data)
            self._packed(run_id, name, data)

    def _packed(self, run_id: str, name: str, data: bytes) -> None:
        """Say where the compressed copy of a large file is another one."""
        where = gzip_path(run_id, Stored(name, name, len(data)))
        packed = self.place.read(where) if where else None
        if where is None or packed is None:
            return
        self._copies.add(where)
        if not _is_packed(packed, data):
            self._say(where, f"does not hold what {raw_path(run_id, name)} holds")

    def _put(self, own: Path, run_id: str, name: str, data: bytes) -> None:
        path = own / name
        self._names[str(path)] = raw_path(run_id, name)
        try:
            write_bytes(path, data)
        except OSError as error:
            if error.errno in FULL:
                # That says nothing of the site.
                cure = "set TMPDIR to a folder with room for the raw files of the site"
                raise MachineError(f"{self.folder}: {error.strerror}; {cure}") from error
            self._say(raw_path(run_id, name), f"cannot be kept here: {error.strerror}")

    def _listed(self, own: Path) -> dict[str, str]:
        """The files that a run's manifest lists, with their hashes."""
        if not (own / MANIFEST).exists():
            return {}
        try:
            return dict(json_record(own / MANIFEST, Manifest, any_text=True).files)
        except InvalidFileError:
            return {}  # whoever checks the run says so

    def _unlisted(self, run_id: str, listed: dict[str, str]) -> None:
        known = {raw_path(run_id, name) for name in (*listed, RUN, MANIFEST, AUDIT)}
        for path in below(self.place.names(), f"runs/{run_id}/raw"):
            if path in known or path in self._copies or is_copy(self.place, path, known):
                continue
            self._say(path, "not in the run's manifest; it was added after the run")

    def hashes(self, own: Path, unread: Mapping[str, Finding]) -> Iterator[Finding]:
        """Where the files of a run are neither what its manifest lists nor redacted from that.

        One that is `unread`, as the site tells, is missed and nothing else.
        """
        run_id = own.name
        covered = self._covered.get(run_id, {})
        for name, expected in self._listed(own).items():
            where = raw_path(run_id, name)
            got = _digest(own, name)
            if not got and name in unread:
                message = f"{unread[name].message}; the manifest lists it"
                yield Finding(Severity.WARNING, where, message)
                continue
            if not got:
                yield Finding(Severity.ERROR, where, "missing; the manifest lists it")
                continue
            told = covered.get(name)
            if got == expected or (told and (told.before, told.after) == (expected, got)):
                continue
            message = f"changed after the run was completed; expected SHA-256 {expected}, got {got}"
            yield Finding(Severity.ERROR, where, message)

    def told(self, own: Path) -> Iterator[Finding]:
        """Where the report of what is hidden tells of other files of a run than those published."""
        listed = self._listed(own)
        for name, one in self._covered.get(own.name, {}).items():
            where = raw_path(own.name, name)
            if _digest(own, name) != one.after:
                yield _told_of(one, "after", f"{where} is no file with the SHA-256 {one.after}")
                continue
            if listed.get(name, one.before) != one.before:
                message = f"the run's manifest says {listed[name]}, not {one.before}"
                yield _told_of(one, "before", message)
            for key, message in faults(one, own / name):
                yield _told_of(one, key, message)

    def strange(self, known: Collection[str]) -> Iterator[Finding]:
        """Where that report tells of runs that the site does not have."""
        for run_id in self._covered:
            if run_id not in known:
                message = "tells of a run that the site does not have"
                yield Finding(Severity.ERROR, REDACTION, message, key=f"files[{run_id}]")

    def _report(self, one: RedactedFile, key: str, message: str) -> None:
        self.findings.append(_told_of(one, key, message))

    def _say(self, path: str, message: str) -> None:
        self.findings.append(Finding(Severity.ERROR, path, message))


def published_runs(place: Place) -> tuple[str, ...]:
    """The ids of the runs whose raw files a site has; by data/runs.json where nobody lists them."""
    names = place.names()
    if names is not None:
        parts = (name.split("/") for name in names)
        return tuple(sorted({p[1] for p in parts if p[:1] + p[2:] == ["runs", "raw", RUN]}))
    try:
        listed = json.loads(place.read(LISTED) or b"")["runs"]
        return tuple(dict.fromkeys(str(one["id"]) for one in listed))
    except (ValueError, LookupError, TypeError, RecursionError):
        return ()


def _told_of(one: RedactedFile, key: str, message: str) -> Finding:
    """What is wrong with the report of what is hidden of a file."""
    where = f"files[{raw_path(one.run, one.file)}]" + (f".{key}" if key else "")
    return Finding(Severity.ERROR, REDACTION, message, key=where)


def _is_name(run_id: str) -> bool:
    """Whether an id can be what the id of a run is: the name of a folder."""
    try:
        size = len(os.fsencode(run_id))
    except UnicodeEncodeError:
        return False
    return 0 < size < 256 and run_id not in (".", "..") and not {"/", "\0"}.intersection(run_id)


def is_copy(place: Place, path: str, known: Collection[str]) -> bool:
    """Whether a file is the compressed copy of one that is known, for a server to send."""
    of = path.removesuffix(".gz")
    if of == path or of not in known:
        return False
    return _is_packed(place.read(path) or b"", place.read(of) or b"")


def _is_packed(packed: bytes, data: bytes) -> bool:
    """Whether something compressed holds some bytes, and no more."""
    try:
        with gzip.open(io.BytesIO(packed)) as stream:
            # A byte more than there is to be: whatever else it holds is not unpacked.
            return stream.read(len(data) + 1) == data
    except (OSError, EOFError, zlib.error):
        return False


def _board(data: bytes) -> str:
    """The board that a run.json names."""
    try:
        board = json.loads(data).get("board")
    except (ValueError, AttributeError, RecursionError):
        return _ELSEWHERE
    return board if isinstance(board, str) and SAFE.fullmatch(board) else _ELSEWHERE


def _digest(own: Path, name: str) -> str:
    """The SHA-256 of a file of a run as the site has it; empty where it has none."""
    path = own / name if _inside(name) else own
    return digest(path) if path.is_file() else ""


def _inside(name: str) -> bool:
    """Whether a name from a manifest stays within its run."""
    parts = PurePosixPath(name).parts
    return bool(parts) and "\0" not in name and name[0] != "/" and ".." not in parts
