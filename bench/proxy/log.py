"""proxy.jsonl: a line for each exchange, written as it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from bench.proxy.form import Exchange
from kbsite.errors import InputError

MOST_LINE_BYTES: Final = 64_000
"""No exchange is longer: everything in it that others say is cut."""


class Log:
    """A file that exchanges are appended to; it must not be there yet.

    Raises FileExistsError, or another OSError where it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)

    def write(self, exchange: Exchange) -> None:
        """Append an exchange; it is with the kernel when this returns. Raises OSError."""
        line = msgspec.json.encode(exchange) + b"\n"
        done = 0
        while done < len(line):
            done += os.write(self._file, line[done:])

    def close(self) -> None:
        """Have all of it on the disk, and let go of the file. Raises OSError."""
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)


def read_exchanges(path: Path) -> Iterator[Exchange]:
    """The exchanges in a proxy.jsonl, one by one, in the order in which they ended.

    A last line that was cut off by the end of its writer is left out. Raises InputError for other
    lines that are no exchange, OSError where the file cannot be read.
    """
    reader = msgspec.json.Decoder(Exchange)
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        number = 0
        while line := stream.readline(MOST_LINE_BYTES + 1):
            number += 1
            if not line.endswith(b"\n") and len(line) <= MOST_LINE_BYTES:
                return
            try:
                yield reader.decode(line)
            except msgspec.DecodeError as error:
                message = f"expected an exchange as the proxy writes it: {error}; take it out"
                raise InputError(message, path=path, line=number) from error
