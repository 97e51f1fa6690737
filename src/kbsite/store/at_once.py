"""A file read at once, by as few calls of the system as can be; standard library only."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_roots: dict[str, str] = {}
"""Folders below which no link is followed, by their paths, and where they lie."""


_ITSELF = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def root(folder: str) -> None:
    """From now on no link is followed below a folder, whatever takes the place of one there.

    Links on the way to it are whose who named it. Nothing changes where it is below such a folder.
    """
    path = _absolute(folder)
    if _root_of(path) not in ("", path):
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            _roots[path] = _place(descriptor)
        finally:
            os.close(descriptor)


def _root_of(path: str) -> str:
    """The innermost such folder that a path is, or lies below; empty where there is none."""
    while path and path not in _roots:
        path = path.rpartition("/")[0]
    return path


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links are not to be followed here


def _place(descriptor: int) -> str:
    """Where something lies that is open; OSError where the system does not tell."""
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - of each file that is read


def itself(path: str, flags: int) -> int:
    """Open a file that was one when somebody looked; OSError where a link stands there by now.

    Below a `root` none is followed that took the place of a folder, either. A pipe keeps nobody
    waiting. It is what `open` takes for an opener.
    """
    return _not_led_away(path, os.open(path, flags | _ITSELF))


@contextmanager
def listed(path: str) -> Iterator[tuple[int, list[os.DirEntry[str]]]]:
    """A folder, open, and what is in it; OSError as of `itself`.

    So nothing is told of what lies where a link leads. The folder itself may be one where it is a
    `root`, or lies below none.
    """
    descriptor = _not_led_away(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY))
    try:
        with os.scandir(descriptor) as entries:
            held = list(entries)
        yield descriptor, held
    finally:
        os.close(descriptor)


def _not_led_away(path: str, descriptor: int) -> int:
    """What was opened, if it lies where its path says; OSError if a link led elsewhere."""
    if _roots and _is_led_away(path, descriptor):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return descriptor


def _is_led_away(path: str, descriptor: int) -> bool:
    """Whether what was opened below a root lies elsewhere than its path says.

    That is asked once it is open: what is looked at before may be another thing by then.
    """
    try:
        place = _place(descriptor)
    except OSError:
        return False
    if place == path:
        return False
    path = _absolute(path)
    at = _root_of(path)
    if not at:
        return False
    own = _roots[at] + path[len(at) :]
    # What was replaced since it was opened is told as deleted.
    return place not in (own, f"{own} (deleted)")


def read_at_once(path: str, size: int, most: int = sys.maxsize) -> bytes:
    """All that a file holds, of which the system said that it is a regular one of some size.

    Most files of runs are small: what Python asks of each before it reads takes longer than that.
    Of one that grows meanwhile hardly more is read than `most` bytes. OSError where it cannot be
    read, or a link stands there by now.
    """
    descriptor = itself(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, size + 1)
        # It may have grown, and there are systems that give a part.
        while len(data) <= most and (more := os.read(descriptor, 1 << 16)):
            data += more
        return data
    finally:
        os.close(descriptor)
