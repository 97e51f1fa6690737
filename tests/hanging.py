"""What hangs is told from what a busy machine is slow at: by the time that this process has had."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HANGS = 20.0
"""Seconds of processor time after which something hangs: far beyond what any machine needs."""


@contextmanager
def hanging(seconds: float = HANGS) -> Iterator[None]:
    """Whatever hangs within raises TimeoutError, after so many seconds of processor time."""

    def strike(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"nothing came back within {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, strike)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
