"""What a file of Parquet says of its columns beside their rows: least and largest values, nulls.

Some readers trust it: they pass over rows, and answer what is the largest, by nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

Fields = Mapping[int, Any]
"""A record of the format, by the numbers of its fields."""

_KINDS: Final = {0: "<?", 2: "<q", 5: "<d"}
"""How numbers are written, by the type of a column; texts are as they are."""
_BROKEN: Final = (ValueError, LookupError, TypeError, AttributeError, struct.error, RecursionError)


def honest(data: bytes, columns: Sequence[Sequence[object]]) -> bool:
    """Whether all that a file says of its columns follows from what they hold.

    False as well where it says something that cannot be proven so.
    """
    try:
        size = int.from_bytes(data[-8:-4], "little")
        return _is_honest(data, _Reader(data, len(data) - 8 - size).record(), columns)
    except _BROKEN:
        return False


def _is_honest(data: bytes, whole: Fields, columns: Sequence[Sequence[object]]) -> bool:
    start = 0
    for group in whole[4]:
        end = start + group[3]
        if len(group[1]) != len(columns):
            return False
        for chunk, column in zip(group[1], columns, strict=True):
            if not _chunk_is(data, chunk, column[start:end]):
                return False
        start = end
    return all(start == len(column) == whole[3] for column in columns)


def _chunk_is(data: bytes, chunk: Fields, values: Sequence[object]) -> bool:
    """Whether what is said of a column, within one group of rows, is so."""
    meta = chunk[3]
    kind = meta[1]
    # What a filter says is no sum, and could deny what is there.
    if 14 in meta or meta[5] != len(values) or not _says(meta.get(12), kind, values):
        return False
    return _index_is(data, chunk, kind, values) and _pages_are(data, meta, kind, values)


def _index_is(data: bytes, chunk: Fields, kind: int, values: Sequence[object]) -> bool:
    """The same of what an index says of each page."""
    if 6 not in chunk:
        return True
    index = _Reader(data, chunk[6]).record()
    firsts = [place[3] for place in _Reader(data, chunk[4]).record()[1]]
    pages = [values[one:two] for one, two in pairwise([*firsts, len(values)])]
    if firsts[0] != 0 or len(pages) != len(index[1]):
        return False
    for number, page in enumerate(pages):
        empty = all(value is None for value in page)
        said = {} if empty else {6: index[2][number], 5: index[3][number]}
        if 5 in index:
            said[3] = index[5][number]
        if index[1][number] != empty or not _says(said, kind, page):
            return False
    return True


def _pages_are(data: bytes, meta: Fields, kind: int, values: Sequence[object]) -> bool:
    """The same of what stands before each page."""
    at = min(meta[9], meta.get(11) or meta[9])
    end, row = at + meta[7], 0
    while at < end:
        reader = _Reader(data, at)
        page = reader.record()
        held = page.get(5) or page.get(8)
        if held:
            until = row + held[1]
            if not _says(held.get(5 if 5 in page else 8), kind, values[row:until]):
                return False
            row = until
        at = reader.at + page[3]
    return row == len(values)


def _says(said: Fields | None, kind: int, values: Sequence[object]) -> bool:
    """Whether sums over values are what is said of them."""
    if not said:
        return True
    held = [one.encode() if isinstance(one, str) else one for one in values if one is not None]
    counts = {3: len(values) - len(held), 4: len(set(held))}
    if any(said.get(key, count) != count for key, count in counts.items()):
        return False
    known: list[Any] = [one for one in held if one == one]
    return all(looks(_value(said[key], kind), known) for key, looks in _ENDS.items() if key in said)


def _value(data: bytes, kind: int) -> Any:
    return struct.unpack(_KINDS[kind], data)[0] if kind in _KINDS else data


def _is_least(said: Any, held: Sequence[Any]) -> bool:
    if not held:
        return False
    real = min(held)
    return bool(said == real or (isinstance(said, bytes) and real.startswith(said) and said))


def _is_largest(said: Any, held: Sequence[Any]) -> bool:
    if not held:
        return False
    real = max(held)
    cut = isinstance(said, bytes) and said > real and real.startswith(said[:-1]) and len(said) > 1
    return bool(said == real or cut)


_ENDS: Final = {1: _is_largest, 2: _is_least, 5: _is_largest, 6: _is_least}
"""What the fields of such sums say that are no counts."""


class _Reader:
    """Reads records as Thrift's compact protocol writes them."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at
        if not 0 <= at < len(data):
            raise ValueError("outside of the file")

    def record(self) -> dict[int, Any]:
        """The record that stands here."""
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind = head & 15
            found[number] = kind == 1 if kind in (1, 2) else self._read(kind)
        return found

    def _read(self, kind: int) -> Any:
        held = _WAYS.get(kind)
        if held is None:
            raise ValueError("of no known type")
        return held(self)

    def list(self) -> Sequence[Any]:
        """The values of a list."""
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.count()
        if count > len(self._data):
            raise ValueError("longer than the file")
        return [self._read(head & 15) for _ in range(count)]

    def byte(self) -> int:
        """The next byte; IndexError behind the end."""
        self.at += 1
        return self._data[self.at - 1]

    def take(self, size: int) -> bytes:
        """So many bytes."""
        self.at += size
        return self._data[self.at - size : self.at]

    def count(self) -> int:
        """A number without a sign."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    def whole(self) -> int:
        """A number."""
        found = self.count()
        return (found >> 1) ^ -(found & 1)


_WAYS: Final[Mapping[int, Callable[[_Reader], Any]]] = {
    **dict.fromkeys((1, 2), lambda reader: reader.byte() == 1),
    3: lambda reader: reader.byte(),
    **dict.fromkeys((4, 5, 6), lambda reader: reader.whole()),
    7: lambda reader: reader.take(8),
    8: lambda reader: reader.take(reader.count()),
    **dict.fromkeys((9, 10), lambda reader: reader.list()),
    12: lambda reader: reader.record(),
}
"""How a value is read, by its type."""
