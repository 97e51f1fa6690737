"""A short look-back over a rollout, for rows that repeat or complete others.

Codex writes much of what is said twice, as a response item and as an event, a row or a few apart
and in either order; some versions leave out one of the two. So a row's events are held back for a
few rows: a copy is shown until its original turns up, whichever comes first. That takes a fixed
number of rows, however long the file is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.model.event import Event, Trace

ROWS = 24
"""How many rows are held back: copies stand up to eight rows from their original."""
_TEXTS = 48
FAMILIES = ("event", "item")
"""The ways in which a version repeats a response item: as an event, or in item_completed."""


class Cell(Struct, eq=False):
    """The events of one row, which may change until they are sent."""

    events: list[Event] = field(default_factory=list)
    sent: bool = False


class Delay:
    """The last rows' events, in the order of the file."""

    def __init__(self) -> None:
        self._cells: deque[Cell] = deque()

    def push(self, cell: Cell) -> Iterator[Event]:
        """Hold a row; what comes out is the row that has been held for long enough."""
        self._cells.append(cell)
        if len(self._cells) > ROWS:
            yield from self._sent()

    def flush(self) -> Iterator[Event]:
        """Everything that is still held."""
        while self._cells:
            yield from self._sent()

    def _sent(self) -> Iterator[Event]:
        cell = self._cells.popleft()
        cell.sent = True
        yield from cell.events


class _Copy(Struct, eq=False):
    """A row that repeats something, unless its original never comes."""

    said: tuple[str, int]
    cell: Cell
    trace: Trace


class Echoes:
    """Tells copies from originals, by who says what; each original accounts for one copy."""

    def __init__(self) -> None:
        self._originals: dict[str, deque[tuple[str, int]]] = {
            family: deque(maxlen=_TEXTS) for family in FAMILIES
        }
        self._copies: dict[str, deque[_Copy]] = {
            family: deque(maxlen=_TEXTS) for family in FAMILIES
        }

    def original(self, voice: str, texts: Iterable[str]) -> None:
        """Take in a response item, by the texts that a copy of it, or of a part of it, may have."""
        said = dict.fromkeys(_key(voice, text) for text in texts if text.strip())
        for family in FAMILIES:
            for key in said:
                self._settle(family, key)

    def repeated(self, family: str, voice: str, text: str, cell: Cell, trace: Trace) -> bool:
        """Whether this row's original was there; else the row becomes `trace` when it comes."""
        key = _key(voice, text)
        if key in self._originals[family]:
            self._originals[family].remove(key)
            return True
        self._copies[family].append(_Copy(key, cell, trace))
        return False

    def _settle(self, family: str, key: tuple[str, int]) -> None:
        copies = self._copies[family]
        copy = next((copy for copy in copies if copy.said == key and not copy.cell.sent), None)
        if copy is None:
            self._originals[family].append(key)
            return
        copies.remove(copy)
        source = copy.cell.events[0].source if copy.cell.events else copy.trace.source
        copy.cell.events = [replace(copy.trace, source=source)]


def _key(voice: str, text: str) -> tuple[str, int]:
    return voice, hash(text.strip())
