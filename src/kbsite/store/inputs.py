"""The files that a build reads: whether they hold what they held, without reading them again."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from itertools import compress
from operator import is_not
from pathlib import Path
from sys import intern, maxsize
from typing import TYPE_CHECKING

from msgspec import Struct

from kbsite.beside import is_a_core_left
from kbsite.store.at_once import itself, read_at_once

if TYPE_CHECKING:
    from kbsite.store.read_beside import ReadBeside

COMPILED = "__pycache__"
"""The folders that Python keeps compiled code in, which it makes of the rest."""


MostBytes = Callable[[str], int]
"""How many bytes of the file at a path are read at most; a larger one is not read at all."""


def any_bytes(_: str) -> int:
    """For files of which all are read."""
    return maxsize


class Input(Struct, frozen=True):
    """A file as it was when a build read it."""

    size: int
    changed: int
    """When it was last written, nanoseconds since 1970; UNREAD of one that was not read."""
    digest: str
    """Its SHA-256, in hexadecimal."""
    hidden: str = ""
    """Digest of what is hidden of it on the site; empty where nothing is."""
    again: str = ""
    """What tells it from the same file as a build saw it that changed while it was read."""

    @property
    def holds(self) -> str:
        """The same for two that hold the same, as far as anybody knows."""
        return f"{self.digest}{self.again}"

    @property
    def says(self) -> str:
        """The same for two of which the site shows the same."""
        return f"{self.holds}{self.hidden}"

    @property
    def unread(self) -> int:
        """By which error of the system it could not be read; 0 where it could, or is too large."""
        if self.changed != UNREAD or not self.digest.startswith(_CANNOT):
            return 0
        number = self.digest.removeprefix(_CANNOT)
        # What is kept of a build may be of another kbsite, or damaged.
        return int(number) if _NUMBER.fullmatch(number) else errno.EIO

    @property
    def is_in_doubt(self) -> bool:
        """Whether it changed while a build read it, and nobody has looked at it since."""
        return self.changed == UNREAD and bool(self.again)

    def is_shut(self, path: str) -> bool:
        """Whether it is a folder that could not be listed."""
        return self.changed == UNREAD and path.endswith("/")

    def fits(self, path: str, status: os.stat_result) -> bool:
        """Whether a file of which the system says this is taken to hold the same, as before.

        One that was shut since then holds it for nobody.
        """
        return (
            self.changed == status.st_mtime_ns
            and self.size == status.st_size
            and (status.st_mode & _ANYBODY == _ANYBODY or os.access(path, os.R_OK, **_AS_WE_ARE))
        )


_ANYBODY = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
"""The mode of a file that anybody may read: nobody has to ask the system for its own rights."""

_AS_WE_ARE = {"effective_ids": os.access in os.supports_effective_ids}


def inputs(
    places: Collection[Path],
    before: Mapping[str, Input],
    heard: Collection[str] | None = None,
    apart: str = "",
    most: MostBytes = any_bytes,
) -> dict[str, Input]:
    """Every regular file at or below `places`, by absolute path.

    A file of the size and time of `before` is taken to hold what it held, as make does. What is no
    file and no folder is there too, a file that is too large or cannot be read, and, with a slash,
    a folder that holds nothing or cannot be listed: a build tells of some of them, and reads none.

    With `heard`, only what lies at or below those paths can be another than `before`, or stand
    beside them; nothing else is looked at. Nobody looks into folders called `apart`, where all is
    looked at.
    """
    roots = [str(place.absolute()) for place in places]
    if heard is None or any(path in roots for path in heard):
        return _everything(places, _Look(before, apart, most))
    within = tuple(f"{root}/" for root in roots)
    ours = {path for path in heard if path.startswith(within)}
    try:
        return _told(ours, before, most)
    except OSError:
        return _everything(places, _Look(before, apart, most))


def _told(heard: Collection[str], before: Mapping[str, Input], most: MostBytes) -> dict[str, Input]:
    """All files, where none but those at, below or beside some paths can be others."""
    folders = {path.rpartition("/")[0] for path in heard}
    homes = tuple(f"{folder}/" for folder in folders)
    # Many thousands of files are gone through once, and no more than those that lie beside.
    near = [path for path in before if path.startswith(homes)] if homes else []
    again = set(heard).union(*(_others(folder, near) for folder in folders))
    known = sorted(before.keys() & {*near, *again})
    look = _Look({path: before[path] for path in known}, most=most)
    look.all_below(look.at(again))
    return _without(before, near, again) | look.found()


def _without(
    before: Mapping[str, Input], near: Iterable[str], again: Collection[str]
) -> dict[str, Input]:
    """What is not looked at again; what is lies among those that are `near`."""
    kept, below = dict(before), tuple(f"{path}/" for path in again)
    for path in (*again, *(path for path in near if path.startswith(below))):
        kept.pop(path, None)
    return kept


def _everything(places: Iterable[Path], look: _Look) -> dict[str, Input]:
    look.at([str(place.absolute()) for place in places if place.is_file()])
    look.all_below([str(place.absolute()) for place in places if place.is_dir()])
    return look.found()


def _others(folder: str, near: Iterable[str]) -> set[str]:
    """What came to a folder or went: of what is called so while it is written nobody tells."""
    names, home = set(os.listdir(folder)), f"{folder}/"  # noqa: PTH208 - names alone
    known = {path[len(home) :].partition("/")[0] for path in near if path.startswith(home)}
    others = {f"{home}{name}" for name in names ^ known}
    return others if names else {*others, folder}


class _Look:
    """What there is to see of files, beside what was seen before."""

    def __init__(
        self, before: Mapping[str, Input], apart: str = "", most: MostBytes = any_bytes
    ) -> None:
        self._before, self._apart, self._most = before, apart, most
        self.same: list[str] = []
        """Those that are as they were."""
        self.other: dict[str, Input] = {}
        self._beside: ReadBeside[_Asked, _Read] | None = None

    def found(self) -> dict[str, Input]:
        """All of them."""
        for path, known, held in self._beside.found() if self._beside else ():
            self._take(path, known, held)
        return joined(self._before, self._before.keys() - set(self.same), self.other)

    def at(self, paths: Iterable[str]) -> list[str]:
        """Look at paths, where a link is no place but a link; those that are folders."""
        folders = []
        for path in paths:
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(path)
            else:
                self._see(path, status)
        return folders

    def all_below(self, folders: Iterable[str]) -> None:
        """Look at all that is below folders, at any depth."""
        below = list(folders)
        while below:
            below = self.below(below)

    def below(self, folders: Iterable[str]) -> list[str]:
        """Look at what folders hold; the folders among that."""
        inner: list[str] = []
        for folder in folders:
            try:
                with os.scandir(folder) as entries:
                    held = list(entries)
                if not held:
                    self._see(f"{folder}/", os.lstat(folder))
            except GONE:
                continue
            except OSError as error:
                self.other[intern(f"{folder}/")] = unread(error)
                continue
            self._seen(held, inner)
        return inner

    def _seen(self, entries: Iterable[os.DirEntry[str]], inner: list[str]) -> None:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != self._apart:
                    inner.append(entry.path)
                continue
            try:
                self._see(entry.path, entry.stat(follow_symlinks=False))
            except GONE:
                continue
            except OSError as error:
                self.other[intern(entry.path)] = unread(error)

    def _see(self, path: str, status: os.stat_result) -> None:
        known = self._before.get(path)
        if status.st_size >= _LARGE and not (known and known.fits(path, status)):
            if self._beside is None and is_a_core_left():
                from kbsite.store.read_beside import ReadBeside  # most builds read no such file

                self._beside = ReadBeside(self._read)
            if self._beside is not None:
                self._beside.ask((path, known, status))
                return
        self._take(path, known, input_of(path, status, known, self._most))

    def _read(self, asked: _Asked) -> _Read:
        path, known, status = asked
        return path, known, input_of(path, status, known, self._most)

    def _take(self, path: str, known: Input | None, held: Input | None) -> None:
        if held is None:
            return
        if held is known:
            self.same.append(path)
        else:
            self.other[intern(path)] = held


def joined(
    before: Mapping[str, Input], out: Set[str], other: Mapping[str, Input]
) -> dict[str, Input]:
    """All files: those of before that are not out, in the same order, then the others by path."""
    held = {path: file for path, file in before.items() if path not in out} if out else dict(before)
    return held | {path: other[path] for path in sorted(other)}


_LARGE = 1_000_000
"""Bytes from which a file is read beside the others."""

_Asked = tuple[str, "Input | None", os.stat_result]
_Read = tuple[str, "Input | None", "Input | None"]

_SMALL = 200_000
"""Bytes of a file that is read at once: a buffer to read it piece by piece takes longer to make."""

UNREAD = -1
"""When a file was written that is too large to be read, or cannot be: no file fits that, so that
it is asked again and again whether it is to be read, and can be, by now."""


def input_of(
    path: str, status: os.stat_result, known: Input | None, most: MostBytes = any_bytes
) -> Input | None:
    """A file as it is: what is known of it where that fits. None where it is gone."""
    if known and known.fits(path, status):
        return known
    if status.st_size >= _SMALL and status.st_size > most(path):
        return Input(status.st_size, UNREAD, f"{status.st_size} bytes, which nobody reads")
    try:
        digest = _digest(path, status)
    except GONE:
        return None
    except OSError as error:
        return unread(error, status.st_size)
    again = known.again if known else ""
    return Input(status.st_size, status.st_mtime_ns, digest, again=again)


_CANNOT = "cannot be read: error "

_NUMBER = re.compile(r"[1-9][0-9]{0,4}")

GONE = (FileNotFoundError, NotADirectoryError)
"""What is raised where something is not there any more."""


def unread(error: OSError, size: int = 0) -> Input:
    """What is there and cannot be read: whoever does something with it tells of it."""
    return Input(size, UNREAD, f"{_CANNOT}{error.errno or errno.EIO}")


def _digest(path: str, status: os.stat_result) -> str:
    if stat.S_ISREG(status.st_mode):
        if status.st_size < _SMALL:
            return hashlib.sha256(read_at_once(path, status.st_size)).hexdigest()
        with open(path, "rb", 0, opener=itself) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    if stat.S_ISLNK(status.st_mode):
        return f"a link to {Path(path).readlink()}"
    return "a folder" if stat.S_ISDIR(status.st_mode) else "neither a file nor a folder"


class Changes(Struct, frozen=True):
    """How files differ from what they were."""

    folders: frozenset[str]
    """All folders that one of them lies in, at any depth."""
    others: frozenset[str]
    """Those that came, and those that went."""


def changed(before: Mapping[str, Input], now: Mapping[str, Input]) -> list[str]:
    """The files that came, and those that hold something else than they did."""
    # Of many thousands most are the very same object: no line of Python is run for these.
    others = compress(now, map(is_not, now.values(), map(before.get, now)))
    return [p for p in others if (old := before.get(p)) is None or old.holds != now[p].holds]


def changes(before: Mapping[str, Input], now: Mapping[str, Input]) -> Changes:
    """How the files of a build differ from those of the one before."""
    differ = changed(before, now)
    others = {path for path in differ if path not in before}
    if len(before) + len(others) != len(now):
        others |= before.keys() - now.keys()
    folders: set[str] = set()
    for path in others.union(differ):
        above = path.rpartition("/")[0]
        while above and above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    return Changes(frozenset(folders), frozenset(others))


class Below:
    """The files of some folders, found among all inputs."""

    def __init__(self, held: Mapping[str, Input]) -> None:
        self._held = held
        self._paths = sorted(held)

    def of(self, folder: Path) -> dict[str, Input]:
        """What is below a folder, by its path from there."""
        home = f"{folder.absolute()}/"
        first, last = bisect_left(self._paths, home), bisect_left(self._paths, f"{home[:-1]}0")
        return {path[len(home) :]: self._held[path] for path in self._paths[first:last]}


def digest_of(held: Mapping[str, Input]) -> str:
    """One SHA-256 over the paths and contents of files."""
    whole = hashlib.sha256()
    for path, file in sorted(held.items()):
        whole.update(f"{file.says}  {path}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
