"""One build of a site at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kbsite.errors import MachineError, UsageError


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keeps other builds of the same site waiting; MachineError where nothing can be written.

    Copies of a process that work for it hold on to this until they are gone, even after it was
    killed: what they still write is not taken for the next build's.
    """
    descriptor = _opened(out)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps others waiting who ask the same of a folder, which is there and stays.

    It is the folder itself that is locked: nothing lies in it or beside it for that.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_taken(out: Path) -> bool:
    """Whether somebody builds or publishes there just now, so that others wait."""
    try:
        return is_locked(_lock(out))
    except OSError:
        return False


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock on a file; OSError where the file cannot be opened."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        # Shared, so that two who look do not take each other for somebody at work.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(out: Path) -> Path:
    if not out.name:
        raise UsageError(f"{out}: no folder that something can take the place of")
    return out.with_name(f".{out.name}.build.lock")


def _opened(out: Path) -> int:
    lock = _lock(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        # That somebody else's lock stands there says nothing of where the site is to stand.
        place = lock if os.path.lexists(lock) else out
        raise MachineError(f"{place}: cannot be written: {error.strerror}") from error
