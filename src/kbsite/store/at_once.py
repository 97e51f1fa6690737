"""A file read at once, by as few calls of the system as can be; standard library only."""

from __future__ import annotations

import os
import sys


def itself(path: str, flags: int) -> int:
    """Open a file that was one when somebody looked; OSError where a link stands there by now.

    A pipe that does keeps nobody waiting. It is what `open` takes for an opener.
    """
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)


def read_at_once(path: str, size: int, most: int = sys.maxsize) -> bytes:
    """All that a file holds, of which the system said that it is a regular one of some size.

    Most files of runs are small: what Python asks of each before it reads takes longer than that.
    Of one that grows meanwhile hardly more is read than `most` bytes. OSError where it cannot be
    read, or a link stands there by now.
    """
    descriptor = itself(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, size + 1)
        # It may have grown, and there are systems that give a part.
        while len(data) <= most and (more := os.read(descriptor, 1 << 16)):
            data += more
        return data
    finally:
        os.close(descriptor)
