"""What is told where no terminal is: progress in lines, signs of life in between; tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from time import monotonic
from typing import TextIO

EVERY_SECONDS = 10.0
"""How often a line says how far it is, where nothing changes."""

_GAP = "  "
_LEAST_WIDTH = 10


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


def columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """Lines of a table: each column is as wide as what is longest in it.

    With a `width` in characters, the wider columns share what is left of it, and are wrapped.
    """
    lines = [list(headings), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widths = _narrowed(widths, width - len(_GAP) * (len(widths) - 1))
    return [text for line in lines for text in _wrapped(line, widths)]


def _narrowed(widths: Sequence[int], whole: int) -> list[int]:
    """Widths of which those that are too wide share what the others leave."""
    narrow = [one for one in widths if one <= whole // len(widths)]
    share = max(_LEAST_WIDTH, (whole - sum(narrow)) // (len(widths) - len(narrow)))
    return [one if one <= whole // len(widths) else min(one, share) for one in widths]


def _wrapped(line: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [wrap(cell, width) or [""] for cell, width in zip(line, widths, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        padded = (f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))
        yield _GAP.join(padded).rstrip()


def printable(text: str) -> str:
    """A text on one line, without what would move a terminal's cursor or change its colours."""
    return "".join(one if one.isprintable() else " " for one in text)
