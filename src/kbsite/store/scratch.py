"""Folders for temporary files; what somebody who was killed left of such is removed by the next."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

YOUNG_SECONDS = 60.0
"""A folder that is younger may not be held yet by who made it."""


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A new folder for temporary files, which is gone when the context ends.

    Its maker holds its lock, and the kernel lets go of that however the maker ends: what lies there
    for the same purpose and is held by nobody is removed first.
    """
    prefix = _prefix(purpose)
    _remove_left(tempfile.gettempdir(), prefix)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        held = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(held)


def _prefix(purpose: str) -> str:
    # Hosts may share a folder for temporary files, and not what they hold locks of.
    host = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f"kbsite-{purpose}-{host}-"


@cache
def _remove_left(place: str, prefix: str) -> None:
    """Remove what dead processes of this user left, once in the life of this process."""
    try:
        with os.scandir(place) as entries:
            there = [one for one in entries if one.name.startswith(prefix)]
    except OSError:
        return
    for one in there:
        try:
            found = one.stat(follow_symlinks=False)
            if found.st_uid == os.geteuid() and time.time() - found.st_mtime >= YOUNG_SECONDS:
                _remove_if_dead(one.path)
        except OSError:
            # Another one removes it, or it is not ours to open.
            continue


def _remove_if_dead(path: str) -> None:
    """Remove a folder that nobody holds; BlockingIOError if somebody does, OSError for a link."""
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(held)
