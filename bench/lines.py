"""What is told where no terminal is: progress in lines, signs of life in between; tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TextIO

EVERY_SECONDS = 10.0
"""How often a line says how far it is, where nothing changes."""


class Lines:
    """Tells a piece of work in lines."""

    def __init__(
        self, title: str, stream: TextIO | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self._stream = stream
        self._now = now
        self._said = ""
        self._at = now()
        self._write(title)

    def __call__(self, what: str, share: float | None) -> None:
        """Tell what is done, unless that was told just before."""
        if what != self._said:
            self._said, self._at = what, self._now()
            self._write(what)
        elif share is not None and self._now() - self._at >= EVERY_SECONDS:
            self._at = self._now()
            self._write(f"{what}: {share:.0%} of all")

    def _write(self, text: str) -> None:
        print(text, file=self._stream or sys.stderr, flush=True)


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: all columns but the last are as wide as what is longest in them."""
    lines = [list(headings), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def printable(text: str) -> str:
    """A text on one line, without what would move a terminal's cursor or change its colours."""
    return "".join(one if one.isprintable() else " " for one in text)
