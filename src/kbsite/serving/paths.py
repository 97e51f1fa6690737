"""Which file of a site an address means: none outside it, whatever the address is."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from kbsite.pages.page import INDEX
from kbsite.store.swapping import VERSIONS


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads."""

    file: Path | None
    """A regular file within the site; None where there is none."""
    folder: bool = False
    """Whether it is a folder's address without the slash at its end: pages would miss theirs."""


NOWHERE = Place(None)


def place_of(site: Path, raw_path: str) -> Place:
    """What an address's path, still quoted, means within a site.

    Links are not followed, nor does a quoted slash part names: a path has one meaning or none. What
    keeps versions of a site is no part of it.
    """
    names = _names(raw_path)
    if names is None or (names[:1] and names[0] in VERSIONS):
        return NOWHERE
    path = site
    for name in names:
        if not _is(path, stat.S_ISDIR):
            return NOWHERE
        path = path / name
    if raw_path.endswith("/"):
        path = path / INDEX
    elif _is(path, stat.S_ISDIR):
        return Place(None, folder=True)
    return Place(path) if _is(path, stat.S_ISREG) else NOWHERE


def _names(raw_path: str) -> list[str] | None:
    """The names that a path consists of; None where one is no name of a file."""
    start, *quoted = raw_path.removesuffix("/").split("/") if raw_path != "/" else [""]
    names = [unquote_to_bytes(name) for name in quoted]
    wrong = any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in names)
    return None if start or wrong else [os.fsdecode(name) for name in names]


def _is(path: Path, kind: object) -> bool:
    assert callable(kind)
    try:
        return bool(kind(path.lstat().st_mode))
    except OSError:
        # Too long a name, or nothing there: either way there is no such file.
        return False
