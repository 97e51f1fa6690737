"""The spare of a site: a second folder of the same files, linked, that the next build starts from.

A build changes the spare where the site changes, and lets both exchange names. So what it costs
hangs on what changed, not on the size of the site. The site itself is never written to.

A spare is only ever there whole: whoever works on it gives it another name first.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from kbsite.beside import beside
from kbsite.store.stirred import by_folder, looked_at, strange_in
from kbsite.store.swapping import remove
from kbsite.store.writing import make_folder, write_bytes

MARKER = ".kbsite"
"""File that says that a folder was made by a build, so that the next one may replace it."""


def spare_path(out: Path) -> Path:
    """Where the spare of the site in `out` lies."""
    return out.with_name(f".{out.name}.spare")


def partial_path(out: Path) -> Path:
    """Where a build makes the site that is to stand in `out`."""
    return out.with_name(f"{out.name}.partial")


def _list_path(out: Path) -> Path:
    return out.with_name(f".{out.name}.spare.list")


Files = frozenset[str] | set[str]
"""Files by their paths within the site."""


class Listed(Struct, frozen=True):
    """What a process that stays knows of the list of a spare: it need not read it."""

    at: int
    """When the marker of its site was written, nanoseconds since 1970."""
    files: Files


def standing(out: Path) -> object:
    """Which folder a site stands in, and which build made it: another, once it was replaced."""
    return [_which(path) for path in (out, out / MARKER)]


def _which(path: Path) -> tuple[int, ...] | None:
    """What tells a file or a folder from all others; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    folder = stat.S_ISDIR(status.st_mode)
    return status.st_dev, status.st_ino, 0 if folder else status.st_mtime_ns


def taken_up(out: Path, folder: Path, known: Listed | None = None) -> Files | None:
    """Let the spare of `out` stand at `folder`; the files that both have, by path.

    None, and an empty folder, where there is no spare that fits the site.
    """
    spare = spare_path(out)
    files = _listed(out, known)
    if files is not None:
        spare.rename(folder)
        return files
    remove(spare)
    folder.mkdir(parents=True)
    return None


def _listed(out: Path, known: Listed | None = None) -> Files | None:
    """The files of the spare; None where it is not that of the site that stands."""
    try:
        at = os.lstat(_list_path(out)).st_mtime_ns
        own, other = os.lstat(out / MARKER), os.lstat(spare_path(out) / MARKER)
        # No two builds write their marker at the same time, and the list has that of its own.
        if (own.st_dev, own.st_ino) != (other.st_dev, other.st_ino) or at != own.st_mtime_ns:
            return None
        if known and known.at == at:
            return known.files
        return frozenset(os.fsdecode(_list_path(out).read_bytes()).split("\0"))
    except OSError:
        return None


class Amiss(Struct, frozen=True):
    """Where a site, or its spare, is not as the last build left it."""

    gone: Collection[str] = ()
    """The files of the spare that are not the site's too, as one."""
    strange: Collection[str] | None = None
    """What somebody has put into the site; None where nobody looked."""
    strange_in_spare: Collection[str] = ()
    """What somebody has put into the spare."""


def left(out: Path) -> int:
    """When a build left a site and its spare, nanoseconds since 1970; 0 where there is no spare."""
    try:
        # The list is the last that is written.
        return os.lstat(_list_path(out)).st_ctime_ns
    except OSError:
        return 0


def is_torn(out: Path, since: int) -> bool:
    """Whether files of a site that has a spare are gone; `since` as `amiss` takes it."""
    found = amiss(out, since)
    return found is not None and bool(found.gone)


def amiss(out: Path, since: int) -> Amiss | None:
    """Where the site is not as it was left; None where no spare fits it.

    All was looked at `since` a moment, nanoseconds since 1970; 0 where the last build made all of
    it. Names that came or went later are told by their folder, by a time that nobody can set:
    folders that rested are not read.
    """
    files = _listed(out)
    if files is None:
        return None
    held = by_folder(files)
    last = left(out)
    since = since or last
    if max(since, last) > time.time_ns():
        # The clock was set back since then: whatever changed may bear an earlier time.
        since = last = 0
    trees = out, spare_path(out)
    site, spare = (looked_at(tree, held, since, last) for tree in trees)
    gone: list[str] = []
    for folder in site.stirred | spare.stirred:
        if held[folder]:
            one, other = site.files_in(folder), spare.files_in(folder)
            gone += [path for path in held[folder] if one.get(path, -1) != other.get(path, -2)]
    return Amiss(gone, strange_in(site, files, held), strange_in(spare, files, held))


MANY = 2_000
"""Files that take longer to name than it does to make a copy of this process."""

SMALL = 500
"""Pages whose files take longer to look at than to make a copy of this process that does."""


class Earlier(Struct, frozen=True):
    """What is known of the folder of an earlier site.

    Which of many thousands of files are gone is told once: to compare all of them takes longer than
    to do what changed.
    """

    files: Files
    """What it holds, and what is listed."""
    gone: Files
    """Of these what is no part of the site any more."""
    strange: Collection[str] | None = None
    """What else it holds; None where nobody looked."""
    amiss: Files = frozenset()
    """Of its files those that are not there, or in whose place something else may stand."""


def lay_aside(
    out: Path, folder: Path, held: Earlier | None, files: Files, fresh: Files
) -> Listed | None:
    """Make `folder`, which holds an earlier site, the spare of the one in `out`.

    `held` is None if nobody knows what it holds. `files` is what the site does, `fresh` of these
    what the folder does not hold, or not so. Where links cannot be had there is no spare, and None
    is told of it.
    """
    try:
        folder.mkdir(exist_ok=True)
        # What stands in the place of a folder goes first.
        for path in (*_strange(folder, held), *(held.amiss if held else ())):
            remove(folder / path)
        earlier = held or _found(folder, files)
        new = fresh & files if held else (fresh & files) | (files - earlier.files)
        drop(folder, earlier.gone)
        there = earlier.files - earlier.amiss if earlier.amiss else earlier.files
        _name_again(out, folder, sorted(new), there)
        remove(spare_path(out))
        folder.rename(spare_path(out))
        if held is None or earlier.gone or not new <= earlier.files:
            write_bytes(_list_path(out), os.fsencode("\0".join(files)))
        written = os.lstat(out / MARKER).st_mtime_ns
        os.utime(_list_path(out), ns=(written, written))
    except OSError:
        # The next build takes longer, and nothing else.
        remove(folder)
        remove(spare_path(out))
        return None
    return Listed(written, files)


def _name_again(out: Path, folder: Path, paths: Sequence[str], there: Files) -> None:
    """Let files of a site have a second name in a folder, in place of what is `there`.

    Of thousands a copy of this process names half: the system takes longer than to make a copy.
    """
    if len(paths) < MANY:
        _name_all(out, folder, paths, there)
        return
    half = len(paths) // 2
    others = beside(partial(_name_all, out, folder, paths[half:], there))
    try:
        _name_all(out, folder, paths[:half], there)
    finally:
        # Nobody goes on in a folder that is taken away, whatever goes wrong.
        others()


def _name_all(out: Path, folder: Path, paths: Iterable[str], there: Files) -> None:
    for path in paths:
        target = f"{folder}/{path}"
        if path in there:
            Path(target).unlink()
        _second_name(f"{out}/{path}", target)


def _strange(folder: Path, held: Earlier | None) -> Collection[str]:
    """What somebody has put into the folder of an earlier site: the next one would have it too."""
    # Where nobody knows what the folder holds, all of it is looked at.
    if held is None:
        return ()
    if held.strange is not None:
        return held.strange
    folders = by_folder(held.files)
    made = os.lstat(folder / MARKER).st_mtime_ns
    look = looked_at(folder, folders, made, made)
    return strange_in(look, held.files, folders)


def _found(folder: Path, files: Files) -> Earlier:
    there = files_below(folder)
    return Earlier(there, there - files)


def drop(folder: Path, paths: Iterable[str]) -> None:
    """Take files away, and the folders that hold nothing any more."""
    above = set()
    for path in paths:
        file = Path(f"{folder}/{path}")
        # A folder may stand where the file stood, and a file where its folder did.
        if not file.is_dir():
            with suppress(NotADirectoryError):
                file.unlink(missing_ok=True)
        above.add(path.rpartition("/")[0])
    while above := {path for path in above if path and _emptied(f"{folder}/{path}")}:
        above = {path.rpartition("/")[0] for path in above}


def _emptied(folder: str) -> bool:
    try:
        Path(folder).rmdir()
    except OSError:
        return False
    return True


def files_below(folder: Path, inside: str = "") -> frozenset[str]:
    """All files in a folder of `folder`, or the one that is called so, by path; no folders."""
    if (folder / inside).is_file():
        return frozenset([inside])
    found: list[str] = []
    below = [inside]
    while below:
        at = below.pop()
        try:
            with os.scandir(folder / at) as entries:
                for entry in entries:
                    path = f"{at}/{entry.name}" if at else entry.name
                    (below if entry.is_dir(follow_symlinks=False) else found).append(path)
        except FileNotFoundError:
            continue
    return frozenset(found)


def _second_name(source: str, target: str) -> None:
    """Let a file have a second name, in a folder that is made where it is missing."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        # Only the first file of a folder finds none.
        make_folder(target.rpartition("/")[0])
        os.link(source, target)


def link(source: str, target: str) -> None:
    """Let a file have a second name, or copy it where the file system knows no links."""
    try:
        _second_name(source, target)
    except FileExistsError:
        return
    except OSError:
        # Not every file system knows links.
        import shutil

        Path(target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
