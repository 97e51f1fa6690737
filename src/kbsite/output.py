"""The site that a build writes: beside the one that stands, and in its place when it is whole."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kbsite.beside import beside
from kbsite.pages.page import File
from kbsite.store.files import Stored, digest, gzipped
from kbsite.store.swapping import put_in_place, recover
from kbsite.store.writing import write_bytes, write_pieces


@dataclass(slots=True)
class Work:
    """What a build had to do."""

    parsed: int = 0
    """Transcripts that were read."""
    rendered: int = 0
    """Pages that were made from templates, the parts of transcripts among them."""
    written: int = 0
    """Files whose content is new."""
    kept: int = 0
    """Files that are what they were."""


Counts = tuple[int, int]
"""How many files were written, and how many kept."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that is copied into the site."""

    file: Stored
    path: str
    same: bool
    """Whether it is what it was when the site that stands was made."""
    compressed: bool = False


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keeps other builds of the same site waiting.

    Copies of a process that do work beside it hold on to this after it was killed: what they still
    write is not taken for the next build's.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out.with_name(f".{out.name}.build.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Output:
    """A folder that takes the place of `out` when it is whole; what did not change is taken over.

    A file that stays is the same file, linked: a build of thousands of runs copies none of them.
    """

    def __init__(self, out: Path, work: Work) -> None:
        self.out = out
        self.folder = out.with_name(f"{out.name}.partial")
        self.work = work
        self._beside: list[Callable[[], Counts]] = []
        recover(out)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def write(self, file: File) -> None:
        """Put a file in its place; one that comes in pieces, when `settle` is called."""
        if file.stays:
            self.keep([file.path])
        elif file.pieces is None:
            self.write_bytes(file.path, file.data() if file.data else file.text.encode("utf-8"))
        else:
            work = partial(self._pieces, file)
            self._beside.append(beside(work) if file.large else work)

    def _pieces(self, file: File) -> Counts:
        """Write a file in pieces, or keep the one that stands there if it holds the same."""
        target = self.folder / file.path
        written = write_pieces(target, file.pieces or ())
        if not self.stand([file.path]) or digest(self.out / file.path) != written:
            return 1, 0
        target.unlink()
        _link(self.out / file.path, target)
        return 0, 1

    def write_bytes(self, path: str, data: bytes) -> None:
        """Put a file in its place: the one that stands there, if it holds the same."""
        old = self.out / path
        if self.stand([path]) and old.stat().st_size == len(data) and old.read_bytes() == data:
            self.keep([path])
            return
        write_bytes(self.folder / path, data)
        self.work.written += 1

    def copy(self, sources: Sequence[Copy]) -> Counts:
        """Put copies of files in their places, some of them compressed; how many were new."""
        kept = 0
        for source in sources:
            if source.same and self.stand([source.path]):
                self._take_over(source.path)
                kept += 1
            elif source.compressed:
                write_bytes(self.folder / source.path, gzipped(source.file))
            else:
                target = self.folder / source.path
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy(source.file, target)
        return len(sources) - kept, kept

    def keep(self, paths: Collection[str]) -> bool:
        """Take files over as they stand; False, and none of them, where one is not there."""
        if not self.stand(paths):
            return False
        for path in paths:
            self._take_over(path)
            self.work.kept += 1
        return True

    def _take_over(self, path: str) -> None:
        _link(self.out / path, self.folder / path)

    def stand(self, paths: Iterable[str]) -> bool:
        """Whether all of these files stand in the site as it was."""
        held = (self.out / path for path in paths)
        return all(old.is_file() and not old.is_symlink() for old in held)

    def settle(self) -> None:
        """Wait for the files that are written beside; what went wrong with one is raised here."""
        waiting, self._beside = self._beside, []
        for counts in waiting:
            self.count(counts())

    def count(self, counts: Counts) -> None:
        """Take down how many files were written and kept."""
        self.work.written += counts[0]
        self.work.kept += counts[1]

    def replace(self) -> None:
        """Let the folder take the place of the site that stood; until now that was untouched."""
        put_in_place(self.folder, self.out)
        shutil.rmtree(self.folder, ignore_errors=True)


def _copy(file: Stored, target: Path) -> None:
    if not file.hidden:
        shutil.copyfile(file.path, target, follow_symlinks=False)
        return
    with file.open() as stream, target.open("wb") as written:
        shutil.copyfileobj(stream, written, 1 << 20)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        # Only the first file of a folder finds none.
        target.parent.mkdir(parents=True, exist_ok=True)
        _link_or_copy(source, target)
    except OSError:
        _link_or_copy(source, target)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        # Not every file system knows links.
        shutil.copyfile(source, target)
