"""One build of a site at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kbsite.errors import MachineError, UsageError
from kbsite.store.spares import partial_path

_HELD: dict[Path, list[int]] = {}
"""What this process holds of each site that it builds: its lock, and then folders."""


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keeps other builds of the same site waiting; MachineError where nothing can be written.

    Copies of a process that work for it hold on to this until they are gone, even after it was
    killed: what they still write is not taken for the next build's. Where somebody deletes the
    lock, others wait for who works in the folders of the site.
    """
    held = [_taken(out)]
    try:
        for folder in _folders(out):
            _wait_for(folder)
        _HELD[out] = held
        yield
    finally:
        _HELD.pop(out, None)
        for descriptor in held:
            os.close(descriptor)


def still_alone(out: Path) -> None:
    """Raise MachineError where the lock was deleted: somebody else may have built meanwhile."""
    held = _HELD.get(out)
    if held and not _is_at(held[0], _lock(out)):
        raise _robbed(out)


def claim(out: Path, folder: Path) -> None:
    """Hold on to the folder that is to become the site, for whoever builds it alone."""
    held = _HELD.get(out)
    if held is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    held.append(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _robbed(out) from error
    except OSError:
        return  # not every network file system locks folders


def still_claimed(out: Path, folder: Path) -> None:
    """Raise MachineError where a folder is not the one that was claimed: a part may be missing."""
    held = _HELD.get(out)
    if held and not any(_is_at(descriptor, folder) for descriptor in held[1:]):
        raise MachineError(f"{folder}: was deleted while a site was made in it; build again")


def _robbed(out: Path) -> MachineError:
    message = f"{_lock(out)}: was deleted while this build held it"
    return MachineError(f"{message}; leave it there while something builds, and build again")


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
    for path in (_lock(out), *_folders(out)):
        with suppress(OSError):
            if is_locked(path):
                return True
    return False


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock on a file or folder; OSError where it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # Shared, so that two who look do not take each other for somebody at work.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _folders(out: Path) -> tuple[Path, Path]:
    """Where somebody works who builds a site, and who has built it and is not done."""
    return partial_path(out), out


def _wait_for(folder: Path) -> None:
    """Wait until nobody holds on to a folder, if it is there."""
    with suppress(OSError), alone_in(folder):
        return


def _taken(out: Path) -> int:
    """The lock of a site, once nobody else has it; not one that was deleted meanwhile."""
    while True:
        descriptor = _opened(out)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, _lock(out)):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether what is open is what stands at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
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
