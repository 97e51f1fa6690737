"""How an operator ends what runs: signals that are heard, and never answered in their handlers.

A handler runs in the midst of whatever the main thread does, which may be waiting for an event,
starting a thread or writing a line. One that takes the lock of any of these waits for its own
process, for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

ASKED = "ending the session; its run is completed then. Again to end all at once"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def signals_told(told: Callable[[int], None], *, once: bool = False) -> Iterator[None]:
    """While it lasts, a thread calls `told` with how many of SIGTERM and SIGINT came so far.

    Those that come `once` one came do what they do where nobody hears them: they end this process.
    Of use in the main thread alone. What was done with these signals before is done afterwards.
    """
    # Its `put` is made for handlers: it takes no lock that the code below it could hold.
    came: SimpleQueue[int | None] = SimpleQueue()

    def heard(number: int, _frame: FrameType | None) -> None:
        if once:
            for one in _SIGNALS:
                signal.signal(one, signal.SIG_DFL)
        came.put(number)

    def listen() -> None:
        count = 0
        while came.get() is not None:
            count += 1
            told(count)

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    before = {number: signal.signal(number, heard) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(None)
        listener.join()


@contextmanager
def stopped_by_signals(
    say: Callable[[str], None] | None = None,
) -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; the second of them ends this process at once.

    Who presses ctrl-C is told what that does. Of use in the main thread alone. What was done with
    these signals before is done afterwards.
    """
    stop = threading.Event()

    def told(_count: int) -> None:
        stop.set()
        if say is not None:
            say(ASKED)

    with signals_told(told, once=True):
        yield stop
