"""In which folders of a tree names came or went since a moment, and what lies there now.

The system tells it of each folder by a time that nobody can set: those that rested are not read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable
from pathlib import Path

from msgspec import Struct, field


def by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    """The files that lie in each folder; all folders are there, that of the site is called ""."""
    held: dict[str, list[str]] = {"": []}
    for path in files:
        folder = path.rpartition("/")[0]
        if folder in held:
            held[folder].append(path)
        else:
            held[folder] = [path]
    above = set(held)
    while above := {path.rpartition("/")[0] for path in above} - held.keys():
        held |= {path: [] for path in above}
    return held


class Look(Struct, frozen=True):
    """What became of the folders of a tree."""

    home: str
    """Its path, with a slash behind it."""
    stirred: set[str]
    """Those in which names may have come or gone."""
    lost: set[str]
    """Of these the ones that are no folders any more."""
    read: dict[str, list[tuple[str, os.DirEntry[str]]]] = field(default_factory=dict)
    """What lay in those that were read."""

    def entries(self, folder: str) -> list[tuple[str, os.DirEntry[str]]]:
        """What lies in a folder, with its path within the tree."""
        if folder in self.lost:
            return []
        if folder not in self.read:
            inside = f"{folder}/" if folder else ""
            with os.scandir(f"{self.home}{folder}") as entries:
                self.read[folder] = [(f"{inside}{entry.name}", entry) for entry in entries]
        return self.read[folder]

    def files_in(self, folder: str) -> dict[str, int]:
        """The files in a folder, by path: which one each is, by the inode that all its names have.

        A spare is on the same file system as its site, or could not have links to its files.
        """
        held = self.entries(folder)
        return {path: one.inode() for path, one in held if one.is_file(follow_symlinks=False)}


def looked_at(tree: Path, folders: Iterable[str], since: int, last: int) -> Look:
    """What became of folders since a moment; the `last` that a build did is later than it.

    Of a folder that somebody put there, all below is taken for stirred: it bears earlier times. The
    time of the tree's own changes with its name, and tells nothing.
    """
    look, moved = Look(f"{tree}/", {""}, set()), set()
    # Seen from the tree, the system has half as many names to go through for each.
    home = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Those above come first.
        for path in sorted(set(folders) - look.stirred):
            above = path.rpartition("/")[0]
            status = None if above in look.lost else _status(path, home)
            if status is None:
                look.lost.add(path)
            elif above in moved or _was_moved(status, since, last):
                moved.add(path)
            elif not is_since(status.st_ctime_ns, since):
                continue
            look.stirred.add(path)
    finally:
        os.close(home)
    return look


def _was_moved(folder: os.stat_result, since: int, last: int) -> bool:
    """Whether somebody else may have put a folder where it is, after a moment.

    Where a name came or went in it, both its times are those of that; its own name changes one.
    """
    changed = folder.st_ctime_ns
    return is_since(changed, since) and (changed > last or changed != folder.st_mtime_ns)


def is_since(changed: int, since: int) -> bool:
    """Whether a change may be later than a moment: some file systems tell whole seconds only."""
    return changed >= (since if changed % _SECOND else since - since % _SECOND)


_SECOND = 1_000_000_000


def _status(path: str, home: int) -> os.stat_result | None:
    """What the system says of a folder; None where there is none."""
    try:
        status = os.stat(path, dir_fd=home, follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISDIR(status.st_mode) else None


def strange_in(look: Look, files: Container[str], folders: Container[str]) -> list[str]:
    """What somebody has put into a tree, or where a folder was."""
    return [
        path
        for folder in look.stirred
        for path, entry in look.entries(folder)
        if path not in files and not (path in folders and entry.is_dir(follow_symlinks=False))
    ]
