"""The files that a build reads: whether they hold what they held, without reading them again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Input:
    """A file as it was when a build read it."""

    size: int
    changed: int
    """When it was last written, nanoseconds since 1970."""
    digest: str
    """Its SHA-256, in hexadecimal."""
    hidden: str = ""
    """Digest of what is hidden of it on the site; empty where nothing is."""

    @property
    def says(self) -> str:
        """The same for two of which the site shows the same."""
        return f"{self.digest}{self.hidden}"


def inputs(places: Iterable[Path], before: Mapping[str, Input]) -> dict[str, Input]:
    """Every regular file at or below `places`, by absolute path; without what cannot be read.

    A file of the size and time of `before` is taken to hold what it held, as make does.
    """
    found = {}
    for path in _files(places):
        try:
            status = os.lstat(path)
            known = before.get(path)
            if known and (known.size, known.changed) == (status.st_size, status.st_mtime_ns):
                found[path] = known
                continue
            with Path(path).open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            # What reads the file says so, and names it.
            continue
        found[path] = Input(status.st_size, status.st_mtime_ns, digest)
    return found


def _files(places: Iterable[Path]) -> Iterator[str]:
    below = []
    for place in places:
        if place.is_file():
            yield str(place.absolute())
        elif place.is_dir():
            below.append(str(place.absolute()))
    while below:
        try:
            with os.scandir(below.pop()) as entries:
                held = list(entries)
        except OSError:
            continue
        for entry in held:
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def digest_of(held: Mapping[str, Input]) -> str:
    """One SHA-256 over the paths and contents of files."""
    whole = hashlib.sha256()
    for path, file in sorted(held.items()):
        whole.update(f"{file.says}  {path}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
