"""The items of a transcript as HTML, the second half of a long one beside the first."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from kbsite.beside import Waiting, beside
from kbsite.pages.long_text import LargePicture, LongText
from kbsite.pages.step_html import item as item_html
from kbsite.pages.steps import Item
from kbsite.store.nameless import nameless

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

LONG = 1_000
"""Items from which a second process is worth its start."""

Told = tuple[str, list[LongText | LargePicture]]
"""An item as HTML, and what was too large for its place in it."""


class Rendered:
    """The items of a transcript, rendered in their order.

    What a copy of this process renders it writes into a file without a name, which both have: of a
    long transcript it is more than memory should hold.
    """

    def __init__(self, row: Sequence[Item], reading: Reading, *, ahead: bool) -> None:
        self._row = row
        self._reading = reading
        self._half = len(row) // 2
        self._at = self._half - 1
        self._told: Told | None = None
        """The item that was read from the file last, and which one that was."""
        self._waiting: Waiting[bool] | None = None
        self._file: IO[bytes] | None = None
        if ahead and len(row) >= LONG:
            with suppress(OSError):
                self._file = nameless()
                self._waiting = beside(self._second_half)

    def close(self) -> None:
        """Leave nothing behind of what a copy rendered."""
        if self._file is not None:
            self._file.close()

    def html(self, index: int) -> str:
        """An item, the one before or any that follows it; what overflows waits in `reading`."""
        item, cited = self._row[index], self._reading.cited
        told = self._from_file(index) if index >= self._half else None
        if told is None:
            return cited.shown(item.anchor, item_html(item, self._reading))
        html, large = told
        self._reading.overflow.put(large)
        return cited.shown(item.anchor, html)

    def _from_file(self, index: int) -> Told | None:
        """An item that a copy rendered; None where none did."""
        if self._file is None:
            return None
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            if not (waiting.is_beside and waiting()):
                self._file.close()
                self._file = None
                return None
            self._file.seek(0)
        while self._at < index:
            self._told = pickle.load(self._file)  # noqa: S301 - a copy of this process wrote it
            self._at += 1
        return self._told

    def _second_half(self) -> bool:
        """Render it into the file; whether there was room for it."""
        assert self._file is not None
        overflow = self._reading.overflow
        waiting = list(overflow.take())
        try:
            self._file.seek(0)
            self._file.truncate()
            for item in self._row[self._half :]:
                html = item_html(item, self._reading)
                pickle.dump((html, list(overflow.take())), self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        except OSError:
            return False
        finally:
            overflow.put(waiting)
        return True
