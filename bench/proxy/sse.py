"""Server-sent events out of pieces of a stream, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MOST_EVENT_BYTES: Final = 8 << 20
"""A longer event is skipped: the last one of OpenAI's repeats a whole answer, none is longer."""


class EventReader:
    """The data of events, each as soon as it is whole."""

    def __init__(self, most: int = MOST_EVENT_BYTES) -> None:
        self._most = most
        self._line = bytearray()
        self._data = bytearray()
        self._skipping = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that this piece completes."""
        first, *others = piece.split(b"\n")
        self._extend(first)
        for part in others:
            if data := self._end_line():
                yield data
            self._extend(part)

    def end(self) -> Iterator[bytes]:
        """The data of an event that only lacks its empty line."""
        if self._line:
            self._end_line()
        if data := self._end_line():
            yield data

    def _extend(self, part: bytes) -> None:
        if len(self._line) + len(self._data) + len(part) > self._most:
            self._skipping = True
            self._line.clear()
            self._data.clear()
            # Something has to stand there: an empty line would end the event that is skipped.
            self._line += b":"
        else:
            self._line += part

    def _end_line(self) -> bytes:
        """Take up a line; the event's data if that ends it."""
        line = bytes(self._line).rstrip(b"\r")
        self._line.clear()
        if not line:
            data = b"" if self._skipping else bytes(self._data)
            self._data.clear()
            self._skipping = False
            return data
        if line.startswith(b"data:") and not self._skipping:
            if self._data:
                self._data += b"\n"
            self._data += line[5:].removeprefix(b" ")
        return b""
