"""What the steps of a long transcript tell, in a file: in memory it takes twice its size."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from tempfile import TemporaryFile
from weakref import finalize

import msgspec

from kbsite.model.event import AnyEvent, ToolResult
from kbsite.model.transcript import FileDiff, Placed, Step

Place = tuple[int, int]
"""Where something begins, and how many bytes it is."""
Told = tuple[AnyEvent, ToolResult | None, tuple[FileDiff, ...]]
"""What a step tells: its event, what came back from it, and what it changed."""

_WRITTEN = 1_000_000
"""Bytes that are written at once."""
_REMEMBERED = 1_000_000
"""Bytes of steps that are remembered, or else one: who asks one thing of a step asks several."""


class Aside:
    """What steps tell, each by its place in a file without a name.

    Copies of this process read from it as well, and all that was put into it before they were made.
    """

    def __init__(self) -> None:
        """OSError where there can be no such file."""
        with TemporaryFile() as file:
            self._file = os.dup(file.fileno())
        # Steps are handed on, and nobody knows who is the last to ask one.
        finalize(self, os.close, self._file)
        self._written = 0
        self._waits = bytearray()
        self._known: dict[Place, Told] = {}
        self._bytes = 0

    def put(self, told: Told) -> Place | None:
        """Keep what a step tells; its place. None for what cannot be packed.

        That is halves of characters, numbers of more than eight bytes and nesting too deep.
        """
        try:
            data = msgspec.msgpack.encode(told)
            _PACKED.decode(data)
        except (OverflowError, RecursionError, TypeError, ValueError):
            return None
        place = self._written + len(self._waits), len(data)
        self._waits += data
        if len(self._waits) >= _WRITTEN:
            self._write()
        return place

    def _write(self) -> None:
        """Write what waits; where there is no room for it, it waits on in memory."""
        with suppress(OSError):
            while self._waits:
                # Copies of an open file share where they are in it: each names the place.
                count = os.pwrite(self._file, self._waits, self._written)
                self._written += count
                del self._waits[:count]

    def at(self, place: Place) -> Told:
        """What a step tells that was put there; OSError where the file cannot be read."""
        known = self._known.get(place)
        if known is None:
            known = _PACKED.decode(self._read(place))
            self._bytes += place[1]
            while self._known and self._bytes > _REMEMBERED:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._bytes -= oldest[1]
            self._known[place] = known
        return known

    def _read(self, place: Place) -> bytes:
        at, size = place
        if at >= self._written:
            begin = at - self._written
            return bytes(self._waits[begin : begin + size])
        data = os.pread(self._file, size, at)
        if not data:
            raise OSError(errno.EIO, "a file without a name that this process wrote has lost bytes")
        rest = size - len(data)
        # What was written in part waits in part.
        return data if not rest else data + self._read((at + len(data), rest))


class StepAside(Placed, frozen=True, kw_only=True):
    """A `Step` that reads what it tells when it is asked for it."""

    aside: Aside
    place: Place

    @property
    def event(self) -> AnyEvent:
        """What happened."""
        return self.aside.at(self.place)[0]

    @property
    def result(self) -> ToolResult | None:
        """What came back, if it is a call."""
        return self.aside.at(self.place)[1]

    @property
    def diffs(self) -> tuple[FileDiff, ...]:
        """What it changed."""
        return self.aside.at(self.place)[2]

    @property
    def ended(self) -> float | None:
        """When it was over, its result included, as `elapsed` counts; None if unknown."""
        return self.whole.ended

    @property
    def whole(self) -> Step:
        """The step with all that it tells."""
        event, result, diffs = self.aside.at(self.place)
        return Step(
            event=event,
            anchor=self.anchor,
            elapsed=self.elapsed,
            behind=self.behind,
            result=result,
            result_anchor=self.result_anchor,
            diffs=diffs,
            agents=self.agents,
            usage=self.usage,
        )


_PACKED = msgspec.msgpack.Decoder(Told)
