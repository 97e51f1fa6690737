"""Work beside the work: in a copy of this process, on a second core."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Callable[[], T]:
    """Start some work; what comes back waits for it, and gives what it gave.

    The work changes nothing but files: a copy of this process does it, and is gone. Where there is
    no second core, no way to make a copy, or the copy fails, it is done here when it is waited for.
    """
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2:
        return work
    told, telling = os.pipe()
    _AWAITED.add(told)
    copy = os.fork()
    if copy == 0:
        _done(work, telling)
    os.close(telling)

    def waited_for() -> T:
        _AWAITED.discard(told)
        with os.fdopen(told, "rb") as stream:
            answer = stream.read()
        _, status = os.waitpid(copy, 0)
        if status or not answer:
            return work()
        given: T = pickle.loads(answer)  # noqa: S301 - a copy of this very process wrote it
        return given

    return waited_for


_AWAITED: set[int] = set()
"""Pipes that this process reads answers from."""


def _done(work: Callable[[], object], telling: int) -> None:
    """Do the work, tell what it gave and end: nothing that a process does at its end is done."""
    status = 1
    try:
        # Held open here, they would keep this copy and others waiting for a reader who was killed.
        for told in _AWAITED:
            os.close(told)
        with os.fdopen(telling, "wb") as stream:
            pickle.dump(work(), stream, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # Whatever went wrong, the work is done again where it is waited for, and fails there.
        os._exit(status)
