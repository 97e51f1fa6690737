"""What long transcripts tell, in a file: in memory it would take twice their size."""

from __future__ import annotations

import errno
import os
from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import Generic, TypeVar
from weakref import finalize

from kbsite.fold.packing import Packing
from kbsite.store.nameless import nameless

Place = tuple[int, int]
"""Where something begins in a file, and how many bytes it is."""
T = TypeVar("T")

_WRITTEN = 1_000_000
"""Bytes that are written at once."""

_AHEAD = 128_000
"""Bytes that are read at once for who goes from one record to the next: for each by itself, to ask
the system takes longer than to unpack it."""


class Aside(Generic[T]):
    """Records of one kind, each by its place in a file without a name.

    Copies of this process read from it as well, and all that was put into it before they were made.
    None is remembered: whoever asks for one goes through all, so that those behind it are read
    with it.
    """

    def __init__(self, kind: type[T]) -> None:
        """OSError where there can be no such file."""
        self._packing = Packing(kind)
        file = nameless()
        self._file = file.fileno()
        # Steps are handed on, and nobody knows who is the last to ask one.
        finalize(self, file.close)
        self._written = 0
        self._waits = bytearray()
        self._ahead = b""
        self._begin = 0
        """Where in the file begins what was read ahead: what is written there stays as it is."""
        self._end = 0
        """Where the last record ended that was asked for."""

    def put(self, record: T) -> Place | None:
        """Keep a record; its place. None for what cannot be packed."""
        data = self._packing.packed(record)
        if data is None:
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

    def at(self, place: Place) -> T:
        """The record that was put there; OSError where the file cannot be read."""
        return self._packing.unpacked(self._read(place))

    def _read(self, place: Place) -> bytes:
        at, size = place
        begin = at - self._begin
        if begin < 0 or begin + size > len(self._ahead):
            is_near = 0 <= at - self._end < _AHEAD
            self._end = at + size
            if not is_near or at + size > self._written:
                return self._read_alone(place)
            self._begin, begin = at, 0
            self._ahead = self._read_alone((at, min(max(size, _AHEAD), self._written - at)))
        self._end = at + size
        return self._ahead[begin : begin + size]

    def _read_alone(self, place: Place) -> bytes:
        at, size = place
        if at >= self._written:
            begin = at - self._written
            return bytes(self._waits[begin : begin + size])
        data = os.pread(self._file, size, at)
        if not data:
            raise OSError(errno.EIO, "a file without a name that this process wrote has lost bytes")
        rest = size - len(data)
        # What was written in part waits in part.
        return data if not rest else data + self._read_alone((at + len(data), rest))


class Places:
    """Places in a row, or None for what has none: each takes sixteen bytes."""

    def __init__(self) -> None:
        self._begins, self._sizes = array("Q"), array("Q")

    def append(self, place: Place | None) -> None:
        """Take one more."""
        begin, size = place or _NOWHERE
        self._begins.append(begin)
        self._sizes.append(size)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._begins)

    def __getitem__(self, number: int) -> Place | None:
        """One of them."""
        size = self._sizes[number]
        return (self._begins[number], size) if size else None

    def __setitem__(self, number: int, place: Place | None) -> None:
        """Put another one in the place of one."""
        self._begins[number], self._sizes[number] = place or _NOWHERE


_NOWHERE: Place = (0, 0)
"""No record has no bytes."""


def aside(kind: type[T], *, large: bool) -> Aside[T] | None:
    """Where what large files tell goes; None for others, and where there is no room for it."""
    if large:
        with suppress(OSError):
            return Aside(kind)
    return None


class Row(Generic[T]):
    """Records in a row, which a file holds if there is one to take them."""

    def __init__(self, aside: Aside[T] | None) -> None:
        self._aside = aside
        self._places = Places()
        self._held: dict[int, T] = {}
        """What no file holds, by its number."""

    def append(self, record: T) -> None:
        """Take one more."""
        place = self._aside.put(record) if self._aside is not None else None
        if place is None:
            self._held[len(self)] = record
        self._places.append(place)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def __getitem__(self, number: int) -> T:
        """One of them."""
        place = self._places[number]
        if self._aside is None or place is None:
            return self._held[number]
        return self._aside.at(place)

    def __iter__(self) -> Iterator[T]:
        """All of them, one in memory at a time."""
        return (self[number] for number in range(len(self)))
