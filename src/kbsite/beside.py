"""Work beside the work: in a copy of this process, on another core."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

T = TypeVar("T")


def cores() -> int:
    """How many processors this process may use."""
    held = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    # A container may be allowed less time than that of the processors that it sees.
    with suppress(OSError, ValueError):
        allowed, period = QUOTA.read_text().split()
        held = min(held, -(-int(allowed) // int(period)))
    return max(1, held)


QUOTA = Path("/sys/fs/cgroup/cpu.max")


def can_copy() -> bool:
    """Whether this system can make a copy of a process."""
    return hasattr(os, "fork")


@contextmanager
def one_core() -> Iterator[None]:
    """While this holds, no work is done beside the work."""
    before = _ONE_CORE.set(True)
    try:
        yield
    finally:
        _ONE_CORE.reset(before)


_ONE_CORE: ContextVar[bool] = ContextVar("_ONE_CORE", default=False)


def is_a_core_left() -> bool:
    """Whether work may be done beside the work."""
    return not _ONE_CORE.get() and cores() > 1


class Waiting(Generic[T]):
    """Some work that was started. Called, it waits for it, and gives what it gave."""

    def __init__(self, work: Callable[[], T], *, patient: bool = False) -> None:
        self._work = work
        self._patient = patient
        self._copy: int | None = None
        self._told = -1
        if can_copy() and is_a_core_left():
            with suppress(OSError):
                self._copy, self._told = copied(self._tell)

    def _tell(self, stream: BinaryIO) -> None:
        import pickle

        if self._patient:
            os.nice(_PATIENT)
        pickle.dump(self._work(), stream, pickle.HIGHEST_PROTOCOL)

    @property
    def is_beside(self) -> bool:
        """Whether a copy does it, or did; else it is done here, by who waits for it."""
        return self._copy is not None

    def is_under_way(self) -> bool:
        """Whether somebody is at it, and has nothing to tell yet."""
        import select

        return self._copy is not None and not select.select([self._told], [], [], 0)[0]

    def __call__(self) -> T:
        """What it gave; it is done here where no copy does it, or the copy failed."""
        if self._copy is None:
            return self._work()
        OWN.discard(self._told)
        with os.fdopen(self._told, "rb") as stream:
            answer = stream.read()
        _, status = os.waitpid(self._copy, 0)
        self._copy = None
        if status or not answer:
            return self._work()
        import pickle

        given: T = pickle.loads(answer)  # noqa: S301 - a copy of this very process wrote it
        return given


def beside(work: Callable[[], T], *, patient: bool = False) -> Waiting[T]:
    """Start some work; what comes back waits for it, and gives what it gave.

    The work changes nothing but files: a copy of this process does it, and is gone. Where there is
    no second core, no way to make a copy, or the copy fails, it is done here when it is waited for.
    With `patient`, others go first where there are more of them than processors: nobody waits for
    it soon.
    """
    return Waiting(work, patient=patient)


_PATIENT = 10
"""How much nicer a process is to others that is patient."""


def bound(memory: int, seconds: float = 0.0) -> None:
    """Let this process have so much memory more than it has, and end it when its time is over.

    For copies that are given what anybody may have made; memory where the system can see to it.
    """
    import resource
    import signal
    import sys

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123
            held = int(stream.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = held + memory
        wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


OWN: set[int] = set()
"""Ends of pipes that are this process's alone: a copy of it closes them.

Held open there, they would keep that copy and others waiting for somebody who was killed.
"""


def copied(work: Callable[[BinaryIO], object]) -> tuple[int, int]:
    """Let a copy of this process do some work, which tells into a pipe; its id, and the other end.

    It ends when the work does, with 0 unless something was raised, and when this process does.
    OSError where the system makes no more processes.
    """
    told, telling = os.pipe()
    OWN.add(told)
    here = os.getpid()
    try:
        copy = os.fork()
    except OSError:
        OWN.discard(told)
        os.close(told)
        os.close(telling)
        raise
    if copy == 0:
        _done(work, telling, here)
    os.close(telling)
    return copy, told


def _done(work: Callable[[BinaryIO], object], telling: int, parent: int) -> None:
    """Do the work and end: nothing that a process does at its end is done."""
    status = 1
    try:
        _end_with(parent)
        for end in OWN:
            os.close(end)
        OWN.clear()
        OWN.add(telling)
        with os.fdopen(telling, "wb") as stream:
            work(stream)
        status = 0
    finally:
        # What went wrong is known by the status.
        os._exit(status)


_WHEN_THE_PARENT_ENDS = 1
"""What prctl of Linux calls PR_SET_PDEATHSIG."""


def _end_with(parent: int) -> None:
    """End when the process ends that made this one, where the system can see to that."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_WHEN_THE_PARENT_ENDS, signal.SIGKILL)
        if os.getppid() != parent:
            # It has ended already.
            os.kill(os.getpid(), signal.SIGKILL)
