"""What a box prints: kept in a file up to a limit, counted and dropped above it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1024 * 1024


class Log:
    """The reading end of a box's output.

    A process that prints without end is neither stopped nor kept waiting, and fills no disk.
    """

    failed: OSError | None = None
    """Why what was printed could not be kept; from then on all is dropped."""

    def __init__(self, path: Path, limit: int) -> None:
        self.dropped = 0
        self._path = path
        self._room = limit
        self._file = path.open("wb", buffering=0)
        self._nowhere = os.open(os.devnull, os.O_WRONLY)
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def take(self) -> bool:
        """Take a piece of what was printed; False when nothing more can come."""
        try:
            if self._room:
                piece = os.read(self.reading, min(_PIECE, self._room))
                self._keep(piece)
                return bool(piece)
            # Within the kernel, and without holding up the other threads of this process.
            count = os.splice(self.reading, self._nowhere, _PIECE)
        except BlockingIOError:
            return True
        self.dropped += count
        return bool(count)

    def _keep(self, piece: bytes) -> None:
        rest = memoryview(piece)
        try:
            while rest:
                # On a disk that gets full, a part of it may be written without an error.
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.failed = error
            self.dropped += len(rest)
            self._room = 0
        else:
            self._room -= len(piece)

    def text(self) -> str:
        """What was printed so far, a piece of it at most."""
        self.take()
        return self._path.read_text(errors="replace")

    def close_writing(self) -> None:
        """Leave the writing end to those who inherited it."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    def close(self) -> None:
        """Close everything; what was kept lies in the file."""
        self.close_writing()
        for number in (self.reading, self._nowhere):
            os.close(number)
        self._file.close()


@dataclass(frozen=True)
class Printed:
    """What a box prints: all in one log, or standard output in one of its own."""

    log: Log
    stdout: Log | None = None

    @property
    def logs(self) -> tuple[Log, ...]:
        """One or both."""
        return (self.log,) if self.stdout is None else (self.log, self.stdout)
