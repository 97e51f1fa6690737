"""How an operator ends a run: once in good order, twice at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ASKED = "ending the session; its run is completed then. Again to end all at once"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopped_by_signals(
    say: Callable[[str], None] | None = None,
) -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; the second of them ends this process at once.

    Who presses ctrl-C is told what that does. Of use in the main thread alone. What was done with
    these signals before is done afterwards.
    """
    stop = threading.Event()

    def asked(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            # As if it had never been caught: whoever waits for this process sees which it was.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        stop.set()
        if say is not None:
            # By a thread: the signal may have come in the middle of a line that is being written.
            threading.Thread(target=say, args=(ASKED,), daemon=True).start()

    before = {number: signal.signal(number, asked) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
