"""The copy of a bucket's runs on this machine, brought up to date.

A run changes as a whole: it stays what it was until all of its files are here, so that a build
never sees one half old and half new. What this machine holds and the bucket never did is kept.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbsite.errors import InputError, MachineError
from kbsite.model.config import Storage
from kbsite.model.finding import Finding, Severity
from kbsite.object_storage.bucket import Bucket
from kbsite.object_storage.copied import Copies, Copy
from kbsite.object_storage.failures import StorageError
from kbsite.object_storage.listing import Listing, above, listing
from kbsite.object_storage.provider import Entry
from kbsite.object_storage.together import together
from kbsite.store.alone import alone
from kbsite.store.files import contents
from kbsite.store.run_folders import run_folders
from kbsite.store.swapping import put_in_place

if TYPE_CHECKING:
    from kbsite.model.work import Tick

_SPARE = 100_000_000
"""Bytes of the disk that are left to others."""


@dataclass(slots=True)
class Mirrored:
    """What was done to bring a copy up to date."""

    fetched: int = 0
    """Objects that came over the network."""
    fetched_bytes: int = 0
    removed: int = 0
    """Files whose objects are gone."""
    kept: int = 0
    """Files that are what their objects are."""
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What changes at once: a run, or a file of none."""

    path: str
    """The folder of the run, or the file."""
    entries: Mapping[str, Entry]
    wanted: tuple[Entry, ...]
    """Those of them that are not here."""
    is_run: bool


def mirror(
    bucket: Bucket, folder: Path, limits: Storage | None = None, tick: Tick | None = None
) -> Mirrored:
    """Let `folder` hold what a bucket holds; only what changed is fetched.

    An object that cannot be had is told, and its run stays what it was. What is begun and not
    ended, for a kill or an UnreachableError, is gone on with the next time. InputError where there
    is nothing at all, or more than `limits` allow; MachineError where the disk is too small.
    """
    with alone(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        copies = Copies(_beside(folder, "copied.sqlite"))
        try:
            return _Mirroring(bucket, folder, copies, limits or Storage()).bring(tick)
        finally:
            copies.close()


def _beside(folder: Path, name: str) -> Path:
    return folder.with_name(f".{folder.name}.{name}")


@dataclass(slots=True)
class _Mirroring:
    """A copy that is brought up to date."""

    bucket: Bucket
    folder: Path
    copies: Copies
    limits: Storage
    done: Mirrored = field(default_factory=Mirrored)

    def bring(self, tick: Tick | None) -> Mirrored:
        """Do all of it."""
        if tick:
            tick(f"listing {self.bucket.url('')}", 0, 1)
        found = listing(self.bucket)
        self.done.findings = found.findings
        if not (found.runs or found.others or found.left or found.findings):
            message = "no objects; expected runs below it. The copy here stays as it is"
            raise InputError(message, path=self.bucket.url(""))
        # Only now: an empty folder would be taken for a bucket without runs.
        self.folder.mkdir(exist_ok=True)
        units = list(self._units(found))
        known = self._known(found)
        changed = [
            unit for unit in units
            if unit.wanted or (unit.is_run and len(known[unit.path]) > len(unit.entries))
        ]  # fmt: skip
        self._bound(units)
        self._remove(found)
        self.done.kept = sum(len(unit.entries) - len(unit.wanted) for unit in units)
        self._fetch(changed, known, tick)
        self._tell_of_others(found)
        return self.done

    def _units(self, found: Listing) -> Iterator[_Unit]:
        """What there is to take; what is too large is left as it was."""
        runs = ((run, entries, True) for run, entries in found.runs.items())
        others = ((key, {key: entry}, False) for key, entry in found.others.items())
        for path, entries, is_run in (*runs, *others):
            most = self.limits.most_file_bytes
            large = next((entry for entry in entries.values() if entry.size > most), None)
            if large is None:
                wanted = tuple(entry for entry in entries.values() if not self._is_here(entry))
                yield _Unit(path, entries, wanted, is_run)
            else:
                why = f"{large.size} bytes; storage.most_file_bytes of kbsite.yaml allows {most}"
                self._left(path, large.key, why)
                found.left.add(path)

    def _is_here(self, entry: Entry) -> bool:
        copy = self.copies.held.get(entry.key)
        return copy is not None and copy.is_of(entry) and copy.stands(self.folder / entry.key)

    def _known(self, found: Listing) -> dict[str, set[str]]:
        """What was ever copied of each run that is there, and is to be there now."""
        known = {run: set(entries) for run, entries in found.runs.items()}
        for key in self.copies.held:
            run = next((folder for folder in above(key) if folder in known), None)
            if run is not None:
                known[run].add(key)
        return known

    def _bound(self, units: list[_Unit]) -> None:
        """Raise where all of it is more than is allowed, or than the disk has room for."""
        size = sum(entry.size for unit in units for entry in unit.entries.values())
        if size > self.limits.most_bytes:
            most = self.limits.most_bytes
            message = f"{size} bytes; storage.most_bytes of kbsite.yaml allows {most}"
            raise InputError(message, path=self.bucket.url(""))
        coming = sum(entry.size for unit in units for entry in unit.wanted)
        free = shutil.disk_usage(self.folder).free
        if coming and coming + _SPARE > free:
            cure = "set storage.cache in kbsite.yaml to a folder on a larger disk"
            message = f"{coming} bytes to fetch, {free} are free, of which {_SPARE} stay so"
            raise MachineError(f"{self.folder}: {message}; {cure}")

    def _remove(self, found: Listing) -> None:
        """Delete the files whose objects are gone, but for those of runs that stay as they were."""
        for key in sorted(self.copies.held):
            folders = above(key)
            stays = key in found.others or any(folder in found.runs for folder in folders)
            if stays or any(place in found.left for place in (key, *folders)):
                continue
            path = self.folder / key
            if not path.is_dir():  # which somebody put there
                self._put_aside(path, key)
                with suppress(NotADirectoryError):
                    path.unlink(missing_ok=True)
            self.copies.replace([key], {})
            self.done.removed += 1
            for place in reversed(folders):
                # What holds something stays; somebody may have deleted it, or put another there.
                with suppress(OSError):
                    (self.folder / place).rmdir()

    def _fetch(
        self, changed: list[_Unit], known: Mapping[str, set[str]], tick: Tick | None
    ) -> None:
        coming = _beside(self.folder, "coming")
        coming.mkdir(exist_ok=True)
        failed = False
        for number, (unit, ended) in enumerate(together(self._come, changed), start=1):
            if tick:
                tick(unit.path, number, len(changed))
            match ended:
                case StorageError() as error:
                    self._left(unit.path, str(error.path), error.message)
                    failed = True
                case BaseException() as error:
                    raise error
                case _:
                    failed |= not self._put(unit, known.get(unit.path, {unit.path}))
        if not failed:
            shutil.rmtree(coming)

    def _come(self, unit: _Unit) -> None:
        """Fetch what is wanted of a unit, and has not come already."""
        for entry in unit.wanted:
            target = self._waiting(entry)
            if target.is_file() and target.stat().st_size == entry.size:
                continue
            part = target.with_suffix(".partial")
            self.bucket.fetch(entry, part)
            part.replace(target)

    def _waiting(self, entry: Entry) -> Path:
        """Where an object that came waits until it is put in its place."""
        name = f"{entry.key}\0{entry.version}\0{entry.size}"
        return _beside(self.folder, "coming") / hashlib.sha256(name.encode()).hexdigest()

    def _put(self, unit: _Unit, known: set[str]) -> bool:
        """Install a unit; False, and told, where something on this machine is in its way."""
        try:
            self._install(unit, known)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            self._left(unit.path, unit.path, f"cannot be put into {self.folder}: {error.strerror}")
            return False
        return True

    def _install(self, unit: _Unit, known: set[str]) -> None:
        """Let a unit be what came; what stood there and was not ours is put aside."""
        new = _beside(self.folder, "new")
        _discard(new)
        place = self.folder / unit.path
        for key, entry in unit.entries.items():
            source = self._waiting(entry) if entry in unit.wanted else self.folder / key
            target = new / key[len(unit.path) + 1 :] if unit.is_run else new
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(source, target)
        copies = {
            key: Copy(entry.size, entry.version, self._changed(new, unit, key))
            for key, entry in unit.entries.items()
        }
        place.parent.mkdir(parents=True, exist_ok=True)
        put_in_place(new, place)
        for path, key in _files(new, unit.path):
            self._put_aside(path, key)
        self.copies.replace(known - set(unit.entries), copies)
        _discard(new)
        self.done.fetched += len(unit.wanted)
        self.done.fetched_bytes += sum(entry.size for entry in unit.wanted)
        self.done.removed += len(known - set(unit.entries))

    def _changed(self, new: Path, unit: _Unit, key: str) -> int:
        path = new / key[len(unit.path) + 1 :] if unit.is_run else new
        return path.stat().st_mtime_ns

    def _put_aside(self, path: Path, key: str) -> None:
        """Keep what somebody wrote into the copy, where it is about to be replaced."""
        copy = self.copies.held.get(key)
        if not path.is_file() or (copy is not None and copy.stands(path)):
            return
        place = self.folder / key
        if path != place and place.is_file() and filecmp.cmp(path, place, shallow=False):
            return
        aside = _beside(self.folder, "aside") / f"{key}.{path.stat().st_mtime_ns}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, aside)
        message = f"was changed here; it is what its bucket holds again, and that is kept: {aside}"
        self._tell(Severity.WARNING, str(self.folder / key), message)

    def _left(self, path: str, key: str, why: str) -> None:
        stands = (self.folder / path).exists()
        state = "it stays as it was the last time" if stands else "it is left out"
        url = key if "://" in key else self.bucket.url(key)
        self._tell(Severity.ERROR, url, f"{why}; of {path}: {state}")

    def _tell_of_others(self, found: Listing) -> None:
        """Tell of runs that are here, and were never in the bucket."""
        for folder in run_folders(self.folder):
            run = folder.relative_to(self.folder).as_posix()
            if run not in found.runs and run not in found.left:
                message = "is here alone, and not in the bucket; it is part of this build"
                self._tell(Severity.WARNING, str(folder), message)

    def _tell(self, severity: Severity, path: str, message: str) -> None:
        self.done.findings.append(Finding(severity, path, message))


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _files(place: Path, key: str) -> Iterator[tuple[Path, str]]:
    """The files of what stood at a place, with their keys."""
    if place.is_file():
        yield place, key
    for file in contents(place)[0] if place.is_dir() else ():
        yield file.path, f"{key}/{file.name}"


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Not every file system knows links.
        shutil.copy2(source, target)
