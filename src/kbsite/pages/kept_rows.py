"""What lists and tables say of runs, row by row: of a run that did not change it is not made anew.

A site of two thousand runs has a dozen files with a row for each. Where one run changed, one row
of each is made; the others are known to a process that stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(slots=True)
class KeptRows:
    """Rows as they were made, each with what it was made of."""

    _frame: str = ""
    _held: dict[tuple[str, str], tuple[object, Any]] = field(default_factory=dict)
    _asked: dict[tuple[str, str], tuple[object, Any]] = field(default_factory=dict)
    """Those that were asked for since the build began."""

    def begin(self, frame: str) -> None:
        """Keep what the last build asked for, if all that rows have in common is what it was."""
        self._held = self._asked if frame == self._frame else {}
        self._frame, self._asked = frame, {}

    def row(self, kind: str, run: str, made_of: object, make: Callable[[], Row]) -> Row:
        """The row of a kind about a run, by its id; made where it is not known, or not so.

        `made_of` is all that it hangs on; None where that cannot be told.
        """
        if made_of is None:
            return make()
        held = self._asked.get((kind, run)) or self._held.get((kind, run))
        if held is None or held[0] != made_of:
            held = made_of, make()
        self._asked[kind, run] = held
        row: Row = held[1]
        return row
