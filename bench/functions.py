"""The names of the functions in a library, by where they lie in its file (ELF)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

_LOADED, _NAMES_OF_ALL, _NAMES_TOLD = 1, 2, 11
"""Of segments: it is mapped. Of tables of names: the whole one, the one that linking needs."""

_FUNCTION, _CHOSEN_AT_START = 2, 10
"""Kinds of names: a function, and one of which one version is chosen when it is loaded."""

_LONGEST = 4096

_NAME = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("at", "<u8"),
     ("bytes", "<u8")]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    offset: int
    bytes: int
    linked: int


class Functions:
    """The functions of one file, as far as it names them. A file that is no library has none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = 0
        """Where in the file they begin."""
        self._table = np.empty(0, _NAME)
        self._segments: list[tuple[int, int, int]] = []
        self.complete = False
        """Whether it names all of them, and not only those that others may call."""
        try:
            with path.open("rb") as stream:
                self._read(stream)
        except (OSError, ValueError, IndexError, OverflowError, struct.error):
            # It is gone, or is none: then nobody knows what its functions are called.
            self._table = np.empty(0, _NAME)

    def _read(self, stream: BinaryIO) -> None:
        head = stream.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return
        segments, sections = struct.unpack_from("<QQ", head, 32)
        size, count, step, number = struct.unpack_from("<HHHH", head, 54)
        for one in _rows(stream, segments, size, count):
            kind, _, offset, address, _, held = struct.unpack_from("<IIQQQQ", one)
            if kind == _LOADED:
                self._segments.append((offset, offset + held, address))
        found = [
            _Section(*struct.unpack_from("<4xI16xQQI", one))
            for one in _rows(stream, sections, step, number)
        ]
        best = max(_tables(found), key=lambda one: one.bytes, default=None)
        if best is None:
            return
        stream.seek(best.offset)
        raw = stream.read(best.bytes)
        names = np.frombuffer(raw[: len(raw) // _NAME.itemsize * _NAME.itemsize], _NAME)
        kinds = names["info"] & 15
        functions = (kinds == _FUNCTION) | (kinds == _CHOSEN_AT_START)
        names = names[functions & (names["section"] > 0)]
        self._table = names[np.argsort(names["at"], kind="stable")]
        self._names = found[best.linked].offset
        self.complete = best.kind == _NAMES_OF_ALL

    def __len__(self) -> int:
        return len(self._table)

    def at(self, offset: int) -> str | None:
        """The name of the function that a byte of the file belongs to; None where it has none."""
        address = next(
            (at + offset - start for start, end, at in self._segments if start <= offset < end),
            None,
        )
        if address is None:
            return None
        number = int(np.searchsorted(self._table["at"], address, "right")) - 1
        if number < 0:
            return None
        held = self._table[number]
        size = int(held["bytes"])
        # Where a library does not say how long a function is, it goes on to the next one.
        if size and address >= int(held["at"]) + size:
            return None
        return self._name(int(held["name"]))

    def _name(self, place: int) -> str:
        # Kept open, or in memory, it would be for every library that was ever looked at.
        with self._path.open("rb") as stream:
            stream.seek(self._names + place)
            return stream.read(_LONGEST).partition(b"\0")[0].decode(errors="replace")


def _rows(stream: BinaryIO, start: int, size: int, count: int) -> Iterator[bytes]:
    """So many rows of a table, of so many bytes each."""
    stream.seek(start)
    return (stream.read(size) for _ in range(count))


def _tables(sections: list[_Section]) -> Iterator[_Section]:
    """The tables of names, of which the whole one is the longest."""
    return (one for one in sections if one.kind in (_NAMES_OF_ALL, _NAMES_TOLD))


def plain(name: str | None) -> str:
    """A function's name as a person reads it: of a name of C++'s only scopes and the last word."""
    if name is None:
        return "a function without a name"
    at = re.match(r"_Z+N?K?", name)
    words: list[str] = []
    rest = name[at.end() :] if at else ""
    while count := re.match(r"L?(\d+)", rest):
        end = count.end() + int(count.group(1))
        words.append(rest[count.end() : end])
        rest = rest[end:]
    return "::".join(words) or name


@lru_cache(maxsize=64)
def functions_of(path: str) -> Functions:
    """The functions of a file, read once."""
    return Functions(Path(path))
