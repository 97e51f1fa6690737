"""Streams that whoever starts a process may have closed: cron, daemons, `2>&-`."""

from __future__ import annotations

import os
import sys

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
