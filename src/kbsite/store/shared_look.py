"""Whether thousands of files are as they were: asked by a copy of this process, and by this one.

Both go through the same list, one from each end, until they meet. The list begins with what changed
last, and with folders that much lies in: what is found there first is found soon, and this process
has better things to do then.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from mmap import mmap
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, field

from kbsite.beside import OWN, beside
from kbsite.store.inputs import Input

Folders = dict[str, tuple[int, int]]
"""All folders by path: which one it was, and when its names last changed. That is its inode, and
nanoseconds since 1970 as the system counts them, which nobody can set back; zeros where it had not
rested, or holds a file that could not be read."""

RESTLESS = (0, 0)

T = TypeVar("T")

_PIECE = 256
"""Files or folders that are looked at before anybody asks how far the other one is."""

_NEWEST = 2
"""Pieces of files that are looked at before the folders."""


class Odd(Struct):
    """What is not as it was, or of which nothing is known; paths."""

    folders: frozenset[str]
    files: frozenset[str]


class _Seen(Struct):
    """Places in the lists of folders and files: plain numbers, whatever names hold."""

    folders: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


_FIRST, _LAST, _IS_ODD = range(3)
"""What both processes know: how many pieces the copy has begun with, which one this process has
taken last, and whether either has seen something odd."""


class SharedLook(Generic[T]):
    """A look at folders and files that a copy of this process has begun; called, what it came to.

    That is what `settled` makes of what is odd, in the copy. `join` helps it.
    """

    def __init__(
        self,
        roots: Collection[str],
        files: Mapping[str, Input],
        folders: Folders,
        settled: Callable[[Odd], T],
    ) -> None:
        self._roots, self._settled = roots, settled
        self._folders, self._files = list(folders.items()), list(files.items())
        # What changed with a build is told last.
        self._files.reverse()
        # Where no folder is known, each has to be read, and all that is in it looked at then.
        self._pieces = list(_pieces(len(folders), len(files))) if folders else []
        self._shared = memoryview(mmap(-1, 3 * 8)).cast("q")
        self._shared[_LAST] = len(self._pieces)
        self._mine = _Seen()
        self._process = os.getpid()
        self._hears, self._tells = os.pipe()
        OWN.add(self._tells)
        self._waiting = beside(self._work)
        os.close(self._hears)

    def is_under_way(self) -> bool:
        """Whether a copy is at it, and has nothing to tell yet."""
        return self._waiting.is_under_way()

    def join(self) -> None:
        """Help the copy that is at it, until both meet or something is odd."""
        last, shared = len(self._pieces), self._shared
        while last > shared[_FIRST] and not shared[_IS_ODD] and self.is_under_way():
            last -= 1
            shared[_LAST] = last
            self._look(last, self._mine)
        self.leave()

    def leave(self) -> None:
        """Help no more, and tell the copy what was odd here: it waits for that."""
        if self._tells in OWN:
            OWN.discard(self._tells)
            # Who is gone hears nothing: then it is looked here for what is left.
            with suppress(BrokenPipeError), os.fdopen(self._tells, "wb") as stream:
                stream.write(msgspec.json.encode(self._mine))

    def __call__(self) -> T:
        """What it came to; it is looked here where no copy does it, or the copy failed."""
        self.leave()
        return self._waiting()

    def _work(self) -> T:
        """What the copy does; without one, what is left of it is done here."""
        mine, first = _Seen(), 0
        while first < self._shared[_LAST]:
            self._shared[_FIRST] = first + 1
            self._look(first, mine)
            first += 1
        theirs = self._mine if os.getpid() == self._process else self._heard()
        return self._settled(
            Odd(
                frozenset(self._folders[at][0] for at in (*mine.folders, *theirs.folders)),
                frozenset(self._files[at][0] for at in (*mine.files, *theirs.files)),
            )
        )

    def _heard(self) -> _Seen:
        with os.fdopen(self._hears, "rb") as stream:
            return msgspec.json.decode(stream.read(), type=_Seen)

    def _look(self, piece: int, seen: _Seen) -> None:
        """Look at a piece of the list."""
        are_files, begin, end = self._pieces[piece]
        if are_files:
            self._look_at_files(begin, end, seen)
        else:
            self._look_at_folders(begin, end, seen)

    def _look_at_folders(self, begin: int, end: int, seen: _Seen) -> None:
        roots = self._roots
        for at, (path, known) in enumerate(self._folders[begin:end], begin):
            # Nothing is known of one that had not rested: that is no sign of a change.
            if known == RESTLESS:
                seen.folders.append(at)
                continue
            try:
                # A place may be a link to a folder.
                status = os.stat(path) if path in roots else os.lstat(path)  # noqa: PTH116
                same = (status.st_ino, status.st_ctime_ns) == known
            except OSError:
                same = False
            if not (same and stat.S_ISDIR(status.st_mode)):
                self._shared[_IS_ODD] = 1
                seen.folders.append(at)

    def _look_at_files(self, begin: int, end: int, seen: _Seen) -> None:
        for at, (path, known) in enumerate(self._files[begin:end], begin):
            try:
                odd = not known.fits(path, os.lstat(path))
            except OSError:
                odd = True
            # An empty folder is among the folders.
            if odd and not path.endswith("/"):
                self._shared[_IS_ODD] = 1
                seen.files.append(at)


def _pieces(folders: int, files: int) -> Iterator[tuple[bool, int, int]]:
    """Pieces of both lists, in the order in which they are looked at: whether of files, where."""
    cut = [(True, at, min(at + _PIECE, files)) for at in range(0, files, _PIECE)]
    yield from cut[:_NEWEST]
    yield from ((False, at, min(at + _PIECE, folders)) for at in range(0, folders, _PIECE))
    yield from cut[_NEWEST:]
