"""Floors: the reference, compiled or library kernel, graded as a solution is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class FloorKind(Enum):
    """Which kernel; in the order of a board's floor rows."""

    LIBRARY = "library"
    COMPILED = "compiled"
    EAGER = "eager"

    @property
    def label(self) -> str:
        """The name of the row."""
        return f"{self.value} floor"

    @property
    def sentence(self) -> str:
        """What it is, in one plain sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    FloorKind.LIBRARY: "The best-known library kernel.",
    FloorKind.COMPILED: "The reference under torch.compile.",
    FloorKind.EAGER: "The reference as it stands, in eager PyTorch.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """One floor on one problem."""

    kind: FloorKind
    problem: str
    problem_hash: str | None = None
    hardware: str | None = None
    peak_fraction: float | None = None
    """In the unit of the grid; null where the time is known but no ceiling to hold it against."""
    ms: float | None = None
    """Geometric mean of the times over the shapes, milliseconds."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of peak_fraction, low and high."""
    source: str = ""
    """Where the figure comes from."""
    run: str | None = None
    """Id of the run that it was graded in; null for one that is only told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """floors.json of a board's folder."""

    format: Literal[1]
    floors: tuple[Floor, ...]
