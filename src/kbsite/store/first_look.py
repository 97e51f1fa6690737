"""All files, looked at where nothing is known of any: by a copy of this process.

This process has much to load meanwhile that it needs for a site of them.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from sys import intern

from kbsite.beside import beside
from kbsite.store.inputs import MostBytes, any_bytes, inputs
from kbsite.store.rested import Difference


class FirstLook:
    """A look at all files that was begun; called, what it came to.

    Nobody can help with it: names are read one after the other.
    """

    def __init__(self, places: Collection[Path], most: MostBytes = any_bytes) -> None:
        self._waiting = beside(partial(inputs, places, {}, most=most))

    def is_under_way(self) -> bool:
        """Whether a copy is at it, and has nothing to tell yet."""
        return self._waiting.is_under_way()

    def __call__(self) -> Difference:
        """What it came to; it is looked here where no copy does it, or the copy failed."""
        # What is listed of runs later has the same paths: they are held once.
        return Difference(other={intern(path): file for path, file in self._waiting().items()})
