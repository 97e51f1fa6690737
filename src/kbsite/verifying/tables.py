"""A published table of Parquet held against the one that follows, by what both hold.

What reads such a file is a library in Rust, which ends the process that asks where a file is made
for that, or asks for all memory. So a copy of this process reads it, which may end.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from kbsite.beside import bound
from kbsite.engines import Lost
from kbsite.engines.copies import LEAST, Copies
from kbsite.feeds import parquet

_WRITER = re.compile(rb"parquet-rs version [0-9][0-9.]{0,40}")
"""What a file says of who wrote it."""

MOST_SECONDS = 120.0
"""Of processor time that reading may take: ten thousand runs take a second."""

MOST_MEMORY = 1_000_000_000
"""Bytes of memory that reading may take, where the system can see to that."""


def same(wanted: bytes, got: bytes) -> bool:
    """Whether a file that another version wrote has the rows and columns of one of ours.

    False as well where that cannot be told. The same version writes the same bytes: sums over the
    rows, say, which are no rows, and which some readers trust.
    """
    if _WRITER.findall(got) == _WRITER.findall(wanted):
        return wanted == got
    answers: list[bool] = []

    def told(number: int, given: Lost | bool) -> None:  # noqa: FBT001
        del number
        answers.append(given is True)

    Copies(1).each(_reading(os.getpid()), [(wanted, got)], [LEAST], told)
    return answers == [True]


def _reading(asking: int) -> Callable[[tuple[bytes, bytes]], bool]:
    def read(files: tuple[bytes, bytes]) -> bool:
        if os.getpid() == asking:
            return False  # no copy could be made
        bound(MOST_MEMORY, MOST_SECONDS)
        with Path(os.devnull).open("wb") as nowhere:
            # Where the library ends the process, it tells whoever reads it why.
            os.dup2(nowhere.fileno(), sys.__stderr__.fileno() if sys.__stderr__ else 2)
        return parquet.same(*files)

    return read
