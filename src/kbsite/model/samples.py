"""Raw timing samples of a grade."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """A line of samples.jsonl: the times that one round measured on one shape."""

    round: int
    """Which round of the grade: a fresh process with fresh inputs."""
    shape: str
    """As metrics.json names it."""
    ms: tuple[float, ...]
    """Each measured time, milliseconds, in the order of measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The samples of one round on one shape, in a few numbers, and some of them to draw."""

    round: int
    shape: str
    count: int
    least: float
    median: float
    p90: float
    """The least time that at least nine of ten samples do not exceed."""
    most: float
    drawn: tuple[float, ...]
    """Some of the samples in order of size, evenly spread, the least and the most among them."""
