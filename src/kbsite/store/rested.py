"""Folders in which nothing came or went since a build: nobody reads their names again.

Of many thousands of files, asking what lies in each folder takes longer than asking each file when
it was written. What is known of folders lies beside the site, in a file that bears the time of the
site's marker: of another site, or after a build that failed, nothing of it is believed.

First everything is asked whether it is as it was, by two processes (`kbsite.store.shared_look`);
then what is odd is looked at with care, and nothing else.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from kbsite.store.inputs import GONE, Input, MostBytes, any_bytes, input_of, joined, unread
from kbsite.store.shared_look import RESTLESS, Folders, Odd, SharedLook
from kbsite.store.told import read_told, write_told

MANY = 4_000
"""Files from which on a copy of this process looks, and what is known of folders is kept."""

_REST = 2_000_000_000
"""Nanoseconds for which a folder has to be left alone: no clock of files is coarser."""


class Known(Struct, frozen=True):
    """What is known of the folders of some places."""

    roots: list[str]
    """Where it begins: the places."""
    folders: Folders = field(default_factory=dict)


class Difference(Struct, frozen=True):
    """How the files of some places differ from those that were known."""

    gone: frozenset[str] = frozenset()
    other: dict[str, Input] = {}
    """Those that are new, or not what they were, by path."""

    def applied(self, before: Mapping[str, Input]) -> dict[str, Input]:
        """All files now: first those that are as they were, in the same order, then by path."""
        return joined(before, self.gone | self.other.keys(), self.other)


class Rested:
    """What is known of folders, of the site in `out` whose marker was written at a time."""

    def __init__(self, out: Path, marker: int) -> None:
        self._path = out.with_name(f".{out.name}.folders.json")
        self._holds = False
        with suppress(OSError):
            self._holds = self._path.stat().st_mtime_ns == marker

    def look(
        self, places: Iterable[Path], before: Mapping[str, Input], most: MostBytes = any_bytes
    ) -> SharedLook[Difference]:
        """Begin to look at all files at or below places, on another core where there is one."""
        roots = [str(place.absolute()) for place in places]
        known = read_told(self._path, Known) if self._holds else None
        # What it writes bears no marker's time until somebody says which.
        self._holds = True
        if known and known.roots != roots:
            known = None
        settled = partial(_settled, partial(_Look, roots, before, most), known, self._path)
        return SharedLook(roots, before, known.folders if known else {}, settled)

    def keep(self, marker: int) -> None:
        """Believe it of the site that stands now."""
        if self._holds:
            with suppress(OSError):
                os.utime(self._path, ns=(marker, marker))


def _settled(
    looking: Callable[[Folders], _Look], known: Known | None, path: Path, odd: Odd
) -> Difference:
    """What differs; what is known of folders then is written where it is not what it was."""
    if known and not odd.folders and not odd.files:
        return Difference()
    folders = known.folders if known else {}
    look = looking(folders)
    look.at_folders(odd.folders)
    look.at_files(odd.files)
    look.at_names()
    if known is None or look.folders != folders:
        # Those that most others lie in come first: where a run came, that is soon known.
        order = sorted(look.folders, key=lambda path: (path.count("/"), path))
        write_told(path, Known(look.roots, {path: look.folders[path] for path in order}))
    return Difference(frozenset(look.gone - look.other.keys()), look.other)


class _Look:
    def __init__(
        self, roots: list[str], before: Mapping[str, Input], most: MostBytes, folders: Folders
    ) -> None:
        self.roots, self._before, self._most = roots, before, most
        self._began = time.time_ns()
        self.gone: set[str] = set()
        """Of what was there, what is not as it was."""
        self.other: dict[str, Input] = {}
        shut = tuple(path for path, one in before.items() if one.is_shut(path))
        # Somebody may have looked in between who keeps nothing of folders: what is known is older.
        self.folders: Folders = {p: one for p, one in folders.items() if not p.startswith(shut)}
        """Those that are there."""
        self._restless = [root for root in roots if root not in folders]
        self._restless += [path[:-1] for path in shut]
        self._closed: list[str] = []
        """Folders that cannot be listed, each with a slash behind it."""

    def _folder(self, path: str) -> os.stat_result | None:
        """What the system says of a folder; None if it is none. A place may be a link to one."""
        with suppress(OSError):
            status = self._asked(path)
            return status if stat.S_ISDIR(status.st_mode) else None
        return None

    def _asked(self, path: str) -> os.stat_result:
        return Path(path).stat() if path in self.roots else os.lstat(path)

    def at_folders(self, odd: Collection[str]) -> None:
        """Look which of the folders that are known are there, and in which no name changed.

        But for those that are odd, all are as they were, unless what they lie in is not there.
        """
        away = set()
        for path in self.folders.keys() & odd:
            status = self._folder(path)
            if status is None:
                away.add(path)
            elif (status.st_ino, status.st_ctime_ns) != self.folders[path]:
                self._restless.append(path)
        if away:
            self._leave_out(away)

    def _leave_out(self, away: Collection[str]) -> None:
        known, self.folders = self.folders, {}
        # What a folder holds comes after it: where that is a link now, there is nothing below.
        for path, one in known.items():
            lies = path in self.roots or path.rpartition("/")[0] in self.folders
            if lies and path not in away:
                self.folders[path] = one
        self._restless = [one for one in self._restless if one in self.folders or one not in known]

    def at_files(self, odd: Collection[str]) -> None:
        """Look at the files that are odd, in the folders that are there; others are the same."""
        there = self.folders
        self.gone = {path for path in self._before if path.rpartition("/")[0] not in there}
        for path in set(odd) - self.gone:
            try:
                status = os.lstat(path)
            except OSError:
                self.gone.add(path)
                self.folders[path.rpartition("/")[0]] = RESTLESS
                continue
            if not self._before[path].fits(path, status):
                self.gone.add(path)
                if not stat.S_ISDIR(status.st_mode):
                    self._see(path, status)

    def at_names(self) -> None:
        """Look for what is not known, in folders whose names are not what they were."""
        done: set[str] = set()
        while self._restless:
            read, self._restless = set(self._restless) - done, []
            done |= read
            for folder in sorted(read):
                if not folder.startswith(tuple(self._closed)):
                    self._restless += self._names(folder)

    def _names(self, folder: str) -> list[str]:
        """Look at what is new in a folder; the folders in it that nobody knows."""
        if f"{folder}/" in self._before:
            # It was empty.
            self.gone.add(f"{folder}/")
        try:
            status = self._asked(folder)
            if not stat.S_ISDIR(status.st_mode):
                return []
            rests = self._began - status.st_ctime_ns > _REST
            self.folders[folder] = (status.st_ino, status.st_ctime_ns) if rests else RESTLESS
            with os.scandir(folder) as entries:
                held = list(entries)
        except GONE:
            self.folders.pop(folder, None)
            return []
        except OSError as error:
            self._shut(folder, error)
            return []
        if not held:
            self._see(f"{folder}/", status)
        inner = []
        for entry in held:
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in self.folders:
                    inner.append(entry.path)
            elif entry.path not in self.other and self._is_open(entry.path):
                self._see_entry(entry)
        return inner

    def _shut(self, folder: str, error: OSError) -> None:
        """Let go of all that a folder holds, which cannot be listed by now."""
        home = f"{folder}/"
        self.other = {p: held for p, held in self.other.items() if not p.startswith(home)}
        self.folders = {p: known for p, known in self.folders.items() if not p.startswith(home)}
        self.gone.update(path for path in self._before if path.startswith(home))
        self.other[home] = unread(error)
        self._closed.append(home)
        # It may be what lies above that cannot be looked into, and then can be.
        above = folder.rpartition("/")[0]
        self.folders |= {one: RESTLESS for one in (folder, above) if one in self.folders}

    def _see_entry(self, entry: os.DirEntry[str]) -> None:
        try:
            self._see(entry.path, entry.stat(follow_symlinks=False))
        except GONE:
            return
        except OSError as error:
            self.folders[entry.path.rpartition("/")[0]] = RESTLESS
            self.other[entry.path] = unread(error)

    def _is_open(self, path: str) -> bool:
        """Whether nobody knows yet what a path is."""
        return path in self.gone or path not in self._before

    def _see(self, path: str, status: os.stat_result) -> None:
        known = self._before.get(path)
        held = input_of(path, status, known, self._most)
        if held is None:
            self.folders[path.rpartition("/")[0]] = RESTLESS
        elif held is known:
            self.gone.discard(path)
        else:
            self.other[path] = held
