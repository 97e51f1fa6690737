"""Who works on a cell, whichever sweep asked for it: a lock on a file by the cell's key.

Sweeps of one board may ask for the same cells. Whatever works on one of them holds its claim,
beside the lock of its try, for as long as it lives; nothing else starts on it meanwhile.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from bench.sweeps.shelf import Shelf, grade_told
from bench.sweeps.states import Kind
from bench.sweeps.tries import HIDDEN, Task, locked
from kbsite.store.alone import is_locked

CLAIMS = "claims"
"""Folder of the claims, beside the ledgers of a board."""

_LOOKS = 40
_LOOK_SECONDS = 0.05


def claim_file(board: Path, key: str) -> Path:
    """The file whose lock is the claim to a cell."""
    return board / HIDDEN / CLAIMS / key


def claim(board: Path, key: str) -> int | None:
    """Take the claim to a cell for this process; its descriptor, which a new program keeps.

    None if another process has it.
    """
    path = claim_file(board, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(_LOOKS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Drivers that look, or tidy up, hold it for a moment.
            sleep(_LOOK_SECONDS)
        else:
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - its second parameter has no name
            return descriptor
    os.close(descriptor)
    return None


def claimed(board: Path, key: str) -> bool:
    """Whether somebody works on a cell."""
    try:
        return is_locked(claim_file(board, key))
    except FileNotFoundError:
        return False


@contextmanager
def unclaimed(board: Path, key: str) -> Iterator[bool]:
    """Whether nobody works on a cell; nobody begins to while the context lasts."""
    path = claim_file(board, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path) as free:
        yield free


def wanted_still(task: Task, board: Path) -> bool:
    """Whether what a task is for has not been made meanwhile; asked by who holds the claim."""
    if task.kind is Kind.GRADE:
        return task.run is None or grade_told(board / task.run) is None
    return not Shelf(board).made(task.cell)
