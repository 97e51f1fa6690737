"""Small files read whole, and ends of long ones; standard library only, as bench needs it.

A pipe keeps nobody waiting, a device has an end, and what is too large is not read.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from kbsite.errors import InputError

LIMIT_BYTES = 4_000_000
"""No record that a person or a runner writes is larger; a larger file is refused unread."""


_SYSTEMS = re.compile(r"/(?:proc|sys|dev(?!/shm\b))(?:/|\Z)")


def is_systems(folder: Path) -> bool:
    """Whether a folder is none of files, but what the system shows of itself."""
    return bool(_SYSTEMS.match(os.path.realpath(folder)))


def is_place(path: Path) -> bool:
    """Whether a file may be put there: nothing is, or a file, in a folder that is none of systems.

    What is written whole is renamed to its place: /dev/stdout would be gone for all programs.
    """
    return not is_systems(path.parent) and (path.is_file() or not path.exists())


def read_regular(path: Path, most: int, *, links: bool = False) -> bytes:
    """What a regular file of at most so many bytes holds; InputError for anything else.

    Links lead to one only where `links` says so.
    """
    try:
        status = path.stat() if links else path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise InputError("a symbolic link is not read; expected a regular file", path=path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("expected a regular file", path=path)
        # A pipe that stands there by now keeps nobody waiting, and a link leads nowhere.
        follow = 0 if links else os.O_NOFOLLOW
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - of a descriptor
            data = stream.read(most + 1) if status.st_size <= most else b""
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    if max(status.st_size, len(data)) > most:
        raise InputError(f"too large; expected at most {most} bytes", path=path)
    return data


def end_of(path: Path, most: int) -> str:
    """The text at the end of a file, of about so many bytes; OSError where it cannot be read."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - most))
        return stream.read().decode("utf-8", errors="replace")
