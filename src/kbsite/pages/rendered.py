"""The items of a transcript as HTML, the second half of a long one beside the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kbsite.beside import beside
from kbsite.pages.long_text import LongText
from kbsite.pages.step_html import item as item_html
from kbsite.pages.steps import Item

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

LONG = 1_000
"""Items from which a second process is worth its start."""

Told = tuple[str, list[LongText]]
"""An item as HTML, and the texts of it that get pages of their own."""


class Rendered:
    """The items of a transcript, rendered in their order."""

    def __init__(self, row: Sequence[Item], reading: Reading, *, ahead: bool) -> None:
        self._row = row
        self._reading = reading
        self._half = len(row) // 2 if ahead and len(row) >= LONG else len(row)
        self._waiting: Callable[[], list[Told]] | None = None
        self._held: list[Told] = []
        if self._half < len(row):
            self._waiting = beside(self._second_half)

    def html(self, index: int) -> str:
        """An item; its long texts wait in `reading`."""
        item, cited = self._row[index], self._reading.cited
        if index < self._half:
            return cited.shown(item.anchor, item_html(item, self._reading))
        if self._waiting is not None:
            self._held = self._waiting()
            self._waiting = None
        html, texts = self._held[index - self._half]
        self._reading.long_texts.put(texts)
        return cited.shown(item.anchor, html)

    def _second_half(self) -> list[Told]:
        waiting = list(self._reading.long_texts.take())
        told = []
        for item in self._row[self._half :]:
            html = item_html(item, self._reading)
            told.append((html, list(self._reading.long_texts.take())))
        self._reading.long_texts.put(waiting)
        return told
