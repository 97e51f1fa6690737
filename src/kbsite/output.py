"""The site that a build writes: beside the one that stands, and in its place when it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from kbsite.pages.page import File
from kbsite.store.files import digest
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


class Output:
    """A folder that takes the place of `out` when it is whole; what did not change is taken over.

    A file that stays is the same file, linked: a build of thousands of runs copies none of them.
    """

    def __init__(self, out: Path, work: Work) -> None:
        self.out = out
        self.folder = out.with_name(f"{out.name}.partial")
        self.work = work
        self._counting = Lock()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def write(self, file: File) -> None:
        """Put a file in its place."""
        if file.stays:
            self.keep([file.path])
            return
        target = self.folder / file.path
        if file.pieces is not None:
            written = write_pieces(target, file.pieces)
            if self.stand([file.path]) and digest(self.out / file.path) == written:
                target.unlink()
                self.keep([file.path])
            else:
                self._count(written=1)
        else:
            self.write_bytes(file.path, file.text.encode("utf-8"))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Put a file in its place: the one that stands there, if it holds the same."""
        old = self.out / path
        if self.stand([path]) and old.stat().st_size == len(data) and old.read_bytes() == data:
            self.keep([path])
            return
        write_bytes(self.folder / path, data)
        self._count(written=1)

    def copy(self, source: Path, path: str, *, same: bool) -> None:
        """Put a copy of a file in its place; `same` says that the one standing there is one."""
        if same and self.keep([path]):
            return
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target, follow_symlinks=False)
        self._count(written=1)

    def keep(self, paths: Collection[str]) -> bool:
        """Take files over as they stand; False, and none of them, where one is not there."""
        if not self.stand(paths):
            return False
        for path in paths:
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(self.out / path, target)
            self._count(kept=1)
        return True

    def _count(self, *, written: int = 0, kept: int = 0) -> None:
        # Pages and the files of runs are written side by side.
        with self._counting:
            self.work.written += written
            self.work.kept += kept

    def stand(self, paths: Iterable[str]) -> bool:
        """Whether all of these files stand in the site as it was."""
        held = (self.out / path for path in paths)
        return all(old.is_file() and not old.is_symlink() for old in held)

    def replace(self) -> None:
        """Let the folder take the place of the site that stood; until now that was untouched."""
        old = self.out.with_name(f"{self.out.name}.old.partial")
        shutil.rmtree(old, ignore_errors=True)
        if self.out.exists():
            self.out.rename(old)
        self.folder.rename(self.out)
        shutil.rmtree(old, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        # Not every file system knows links.
        shutil.copyfile(source, target)
