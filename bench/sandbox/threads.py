"""Where threads of a process that stands still would go on, and what code lies there.

The kernel tells it in /proc, to whoever could trace the process; nothing is attached to it, and
nothing of it changes.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sandbox.processes import lines_of, threads_of, words_of

_LONGEST = 7  # bytes of a call
_BETWEEN_CALLS = "-1"  # of a thread that is in no call of the kernel's


@dataclass(frozen=True, slots=True)
class Stand:
    """A thread that was at work, and not waiting for the kernel."""

    process: int
    code: int
    """The address of what it does next."""
    stack: int
    """The address of the last thing on its stack."""


@dataclass(frozen=True, slots=True)
class Region:
    """Addresses of a process that can be executed."""

    start: int
    end: int
    offset: int
    """Where in the file it begins."""
    path: str
    """The file; empty, or a word in brackets, where it is none."""

    def in_file(self, address: int) -> int:
        """Where in the file an address is."""
        return address - self.start + self.offset


def stands(process: int) -> list[Stand]:
    """All threads of a process that stands still and that are at work; none if it is gone.

    Raises PermissionError where the kernel does not tell.
    """
    told = [words_of(thread, "syscall") for thread in threads_of(process)]
    return [
        Stand(process, int(words[2], 16), int(words[1], 16))
        for words in told
        if words and words[0] == _BETWEEN_CALLS
    ]


class Code:
    """What can be executed in a process, as it is now."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._regions = _regions(process)
        self._starts = [one.start for one in self._regions]

    def at(self, address: int) -> Region | None:
        """The region that an address lies in; None where nothing can be executed."""
        region = self._regions[bisect_right(self._starts, address) - 1] if self._regions else None
        return region if region and region.start <= address < region.end else None

    def files(self) -> Sequence[Region]:
        """The regions that a file lies in."""
        return [one for one in self._regions if one.path.startswith("/")]

    def returns(self, start: int, size: int) -> Iterator[tuple[int, Region]]:
        """Where functions below go on, of what lies on a stack.

        Half an address and half a number are one too, now and then: a call has to stand before it.
        """
        held = self.read(start, size)
        for (address,) in struct.iter_unpack("<Q", held[: len(held) // 8 * 8]):
            region = self.at(address)
            if region is not None and is_call(self.read(address - _LONGEST, _LONGEST)):
                yield address, region

    def read(self, address: int, size: int) -> bytes:
        """The bytes from an address on; fewer where the memory ends, none where there is none."""
        try:
            with Path(f"/proc/{self._process}/mem").open("rb", buffering=0) as memory:
                memory.seek(address)
                return memory.read(size)
        except (OSError, OverflowError):
            return b""


def is_call(code: bytes) -> bool:
    """Whether code ends with a call, as x86 spells it: of an address, or of what one holds."""
    if code[-5:-4] == b"\xe8":
        return True
    # The second byte says how the address is made, and thereby how many bytes follow.
    return any(
        len(code) >= size and code[-size] == 0xFF and code[1 - size] & 0xF8 in kinds
        for size, kinds in ((2, (0xD0, 0x10)), (3, (0x50, 0x10)), (4, (0x50,)), (6, (0x90, 0x10)),
                            (7, (0x90,)))
    )  # fmt: skip


def _regions(process: int) -> list[Region]:
    """The regions of a process, by their addresses; none if it is gone."""
    try:
        lines = lines_of(process, "maps")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found = []
    for line in lines:
        words = line.split(None, 5)
        if "x" in words[1]:
            start, end = (int(word, 16) for word in words[0].split("-"))
            path = words[5] if len(words) > 5 else ""
            found.append(Region(start, end, int(words[2], 16), path))
    return found
