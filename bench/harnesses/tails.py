"""The last rows of a file of events, whatever an agent made of it."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kbsite.harnesses.lines import Record, lines, records
from kbsite.model.event import Malformed

MOST_BYTES = 16 << 20
"""How much of the end of a file is looked at: what tells of the end of a session stands there."""


MOST_LINES = 20_000
"""How many lines of that: an agent may fill a file with lines that take long to look at."""


def last_rows(path: Path, most: int = MOST_BYTES) -> Iterator[Record | Malformed]:
    """The JSON objects, and the lines that are none, of the last `most` bytes of a file.

    A line whose beginning lies before them is left out. Nothing comes from what is no file.
    """
    yield from records(lines(io.BytesIO(_tail(path, most))), path.name)


def _tail(path: Path, most: int) -> bytes:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            return b""
        start = max(found.st_size - most, 0)
        held = os.pread(number, most, start)
    finally:
        os.close(number)
    if start:
        held = held.partition(b"\n")[2]
    return b"\n".join(held.rsplit(b"\n", MOST_LINES)[-MOST_LINES:])
