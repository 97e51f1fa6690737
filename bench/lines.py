"""Progress where no terminal is: a line when something changes, and a sign of life now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
