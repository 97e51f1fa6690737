"""The spare of a site: a second folder of the same files, linked, that the next build starts from.

A build changes the spare where the site changes, and lets both exchange names. So what it costs
hangs on what changed, not on the size of the site. The site itself is never written to.

A spare is only ever there whole: whoever works on it gives it another name first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Set
from contextlib import suppress
from pathlib import Path

from kbsite.store.swapping import remove
from kbsite.store.writing import write_bytes

MARKER = ".kbsite"
"""File that says that a folder was made by a build, so that the next one may replace it."""


def spare_path(out: Path) -> Path:
    """Where the spare of the site in `out` lies."""
    return out.with_name(f".{out.name}.spare")


def _list_path(out: Path) -> Path:
    return out.with_name(f".{out.name}.spare.list")


def taken_up(out: Path, folder: Path) -> frozenset[str] | None:
    """Let the spare of `out` stand at `folder`; the files that both have, by path.

    None, and an empty folder, where there is no spare that fits the site.
    """
    spare = spare_path(out)
    files = _listed(out)
    if files is not None:
        spare.rename(folder)
        return files
    remove(spare)
    folder.mkdir(parents=True)
    return None


def _listed(out: Path) -> frozenset[str] | None:
    """The files of the spare; None where it is not that of the site that stands."""
    try:
        listed, at = _list_path(out).read_bytes(), os.lstat(_list_path(out)).st_mtime_ns
        own, other = os.lstat(out / MARKER), os.lstat(spare_path(out) / MARKER)
    except OSError:
        return None
    same = (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino)
    # No two builds write their marker at the same time, and the list has that of its own.
    return frozenset(os.fsdecode(listed).split("\0")) if same and at == own.st_mtime_ns else None


def amiss(out: Path) -> list[str] | None:
    """The files of the spare that are not the site's too, as one; None where none fits the site."""
    files = _listed(out)
    return None if files is None else [path for path in files if not _is_both(f"{out}/{path}")]


def _is_both(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink >= NAMES


NAMES = 2
"""How many a file has at least that is in the site and in the spare."""


def lay_aside(
    out: Path, folder: Path, held: Set[str] | None, files: Set[str], fresh: Set[str]
) -> None:
    """Make `folder`, which holds an earlier site, the spare of the one in `out`.

    `held` is what it holds, and what is listed; None if nobody knows. `files` is what the site
    does, `fresh` of these what the folder does not hold, or not so. Where links cannot be had
    there is no spare.
    """
    try:
        folder.mkdir(exist_ok=True)
        earlier = files_below(folder) if held is None else held
        drop(folder, earlier - files)
        for path in sorted((fresh & files) | (files - earlier)):
            if path in earlier:
                Path(folder, path).unlink()
            try:
                os.link(f"{out}/{path}", f"{folder}/{path}")
            except FileNotFoundError:
                # Only the first file of a folder finds none.
                Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
                os.link(f"{out}/{path}", f"{folder}/{path}")
        remove(spare_path(out))
        folder.rename(spare_path(out))
        if held is None or held != files:
            write_bytes(_list_path(out), os.fsencode("\0".join(files)))
        written = os.lstat(out / MARKER).st_mtime_ns
        os.utime(_list_path(out), ns=(written, written))
    except OSError:
        # The next build takes longer, and nothing else.
        remove(folder)
        remove(spare_path(out))


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


def link(source: Path, target: Path) -> None:
    """Let a file have a second name, or copy it where the file system knows no links."""
    try:
        os.link(source, target)
    except OSError:
        # Only the first file of a folder finds none.
        target.parent.mkdir(parents=True, exist_ok=True)
        _link_or_copy(source, target)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        # Not every file system knows links.
        import shutil

        shutil.copyfile(source, target)
