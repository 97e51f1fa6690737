"""The files of a folder that somebody else made: only what is safe to read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stored:
    """A regular file within a folder."""

    name: str
    """Path within the folder, with forward slashes; bytes that are no UTF-8 as surrogates."""
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Something within a folder that is not read, and why."""

    name: str
    reason: str


def contents(folder: Path) -> tuple[list[Stored], list[Refused]]:
    """The regular files below a folder, by name, and what else is there.

    Symlinks are never followed, wherever they point; devices, pipes and sockets are never opened.
    """
    kept: list[Stored] = []
    refused: list[Refused] = []
    for entry in _entries(folder):
        name = Path(entry.path).relative_to(folder).as_posix()
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            size = entry.stat(follow_symlinks=False).st_size
            kept.append(Stored(name, Path(entry.path), size))
        elif stat.S_ISLNK(mode):
            refused.append(Refused(name, f"a symbolic link (to {Path(entry.path).readlink()})"))
        elif not stat.S_ISDIR(mode):
            refused.append(Refused(name, "neither a file nor a folder"))
    return sorted(kept, key=lambda file: file.name), sorted(refused, key=lambda r: r.name)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path))


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """One SHA-256 over the names and contents of all regular files below a folder."""
    whole = hashlib.sha256()
    for file in contents(folder)[0]:
        whole.update(f"{digest(file.path)}  {file.name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
