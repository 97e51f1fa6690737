"""Streams of a process: those that whoever starts it has closed, and a terminal as it was found.

Closed they are by cron, daemons and `2>&-`. What is written to them is UTF-8, as names are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""By the number of their descriptor."""


def open_closed() -> None:
    """Let those of stdin, stdout and stderr that are closed lead to nowhere.

    Python has None in their place, which nothing can be written to; and the next file that is
    opened would have their number, so that what a program says would stand in it.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            # Programs that are started have them too.
            os.set_inheritable(number, True)  # noqa: FBT003 - it takes no keyword
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def begin_in_utf8() -> None:
    """Begin this process anew in UTF-8 where its locale has another encoding, as `LANG=en_US` has.

    The same runs would have other names of files there: a site made of them would lead to files
    that it does not have. Programs of ours that are started hear of it by the environment.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.environ["PYTHONUTF8"] = "1"
        # Said twice, as -I and -E have Python look at no environment.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


_DUMB = ("dumb", "unknown")
_SHOW = b"\x1b[?25h\r\n"


@contextmanager
def cursor_given_back() -> Iterator[None]:
    """While it lasts, SIGTERM shows the terminal's cursor again before it ends this process.

    Whoever shows progress hides it, and Python ends at that signal without a word.
    """
    import signal  # a build that has nothing to do asks for none of it

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # somebody else does what is to be done
        return
    shown_by = os.getpid()

    def asked(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        # Copies of it have shown nothing, and rich shows nothing at such a terminal.
        if os.getpid() == shown_by and os.environ.get("TERM", "").lower() not in _DUMB:
            os.write(2, _SHOW)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
