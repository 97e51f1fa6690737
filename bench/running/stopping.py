"""How an operator ends a run: once in good order, twice at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; the second of them ends this process at once.

    Of use in the main thread alone. What was done with these signals before is done afterwards.
    """
    stop = threading.Event()

    def asked(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            # As if it had never been caught: whoever waits for this process sees which it was.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        stop.set()

    before = {number: signal.signal(number, asked) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
