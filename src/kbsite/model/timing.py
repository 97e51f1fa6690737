"""From the times of single calls to the time of a shape and of a problem, with their intervals.

Rounds are processes of their own, and differ by more than the calls within one do: so intervals
come from drawing rounds, and then calls within each drawn round (a hierarchical bootstrap). What
a clock says can only make a time longer: the slowest one of a round is its time, each for as long
as it shows for sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kbsite.model.grade import Clocks
from kbsite.model.samples import Samples

DRAWS = 10_000
"""Draws of the bootstrap."""

CONFIDENCE = 0.95

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTimes:
    """What the clocks said in one round on one shape, milliseconds."""

    event_ms: ArrayLike
    """Each single call, by the clock in the solution's process."""
    wall_ms: ArrayLike
    """Each single call, by the parent's clock, less what an empty call takes."""
    slope_ms: ArrayLike
    """How much longer a batch took than a single call, for each call more in it."""
    event_slope_ms: ArrayLike | None = None
    """The same by the clock in the solution's process: held against the parent's, never a time."""
    overhead_ms: float
    """Median of the empty calls."""
    host_ms: float | None = None
    """Median time that solve() kept the host."""
    late_ms: float = 0.0
    """By how much `wall_ms` may be too long, which is taken off where it counts as a time."""

    @classmethod
    def of(cls, samples: Samples, host_ms: float | None = None) -> RoundTimes:
        """What a line of samples.jsonl says, which does not tell how long the host was kept."""
        overhead = median(samples.overhead_ms or (0.0,))
        return cls(
            event_ms=np.asarray(samples.event_ms, dtype=np.float64),
            wall_ms=np.asarray(samples.wall_ms, dtype=np.float64) - overhead,
            slope_ms=np.asarray(samples.slope_ms, dtype=np.float64),
            event_slope_ms=np.asarray(samples.event_slope_ms) if samples.event_slope_ms else None,
            overhead_ms=overhead,
            host_ms=host_ms,
            late_ms=samples.late_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeTimes:
    """The time on one shape."""

    ms: float
    """Median over the rounds of each round's slowest clock, milliseconds."""
    interval: tuple[float, float]
    """95 % interval of it."""
    clocks: Clocks
    """Each clock's median over the rounds."""
    spread: float | None
    """Coefficient of variation of the times of the rounds; None if there is one round only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times on all shapes."""

    shapes: tuple[ShapeTimes, ...]
    ms: float
    """Geometric mean over the shapes, milliseconds."""
    interval: tuple[float, float]
    """95 % interval of it."""

    def fraction(self, ceilings_ms: Sequence[float]) -> tuple[float, tuple[float, float]]:
        """Ceiling time / time, geometric mean over the shapes, and its 95 % interval.

        A ceiling for each shape, in their order; ValueError if one is missing or not above 0.
        """
        if len(ceilings_ms) != len(self.shapes) or not all(one > 0 for one in ceilings_ms):
            raise ValueError(f"expected {len(self.shapes)} ceilings above 0, got {ceilings_ms!r}")
        ceiling = float(np.exp(np.mean(np.log(ceilings_ms))))
        low, high = self.interval
        return ceiling / self.ms, (ceiling / high, ceiling / low)


def estimate(shapes: Sequence[Sequence[RoundTimes]], *, seed: int, draws: int = DRAWS) -> Times:
    """The times on shapes from the rounds of each, and their 95 % intervals.

    The same rounds are drawn for all shapes, as far as they have as many: what a process does to
    one shape it may do to all. With fewer than five rounds intervals are too narrow: the median
    of R lies between the least and the greatest of them with a chance of 1 - 2 ** (1 - R).
    ValueError names a round without samples, with a sample that is no number, or whose slowest
    clock shows no time at all.
    """
    if not shapes or not all(shapes):
        raise ValueError("expected at least one shape, and one round of each")
    random = np.random.default_rng(seed)
    picks = random.random((draws, max(map(len, shapes))))
    drawn = []
    found = []
    for number, rounds in enumerate(shapes):
        sampled = [
            _Round.of(times, f"shape {number}, round {at}") for at, times in enumerate(rounds)
        ]
        times = _redrawn(sampled, picks, random)
        found.append(_shape(rounds, sampled, times))
        drawn.append(np.log(times))
    ms = float(np.exp(np.mean([np.log(shape.ms) for shape in found])))
    return Times(shapes=tuple(found), ms=ms, interval=_interval(np.exp(np.mean(drawn, axis=0)), ms))


@dataclass(frozen=True, slots=True)
class _Round:
    """The samples of a round, each clock's in order of size; of the parent's what is sure."""

    event: Array
    wall: Array
    slope: Array
    ms: float

    @classmethod
    def of(cls, times: RoundTimes, where: str) -> _Round:
        clocks = {
            "event": _ordered(times.event_ms, f"{where}: event_ms"),
            "wall": _ordered(times.wall_ms, f"{where}: wall_ms") - times.late_ms,
            "slope": _ordered(times.slope_ms, f"{where}: slope_ms"),
        }
        ms = max(float(np.median(clock)) for clock in clocks.values())
        if ms <= 0:
            raise ValueError(f"{where}: expected a time above 0 by the slowest clock, got {ms}")
        return cls(**clocks, ms=ms)


def _ordered(samples: ArrayLike, where: str) -> Array:
    values = np.sort(np.asarray(samples, dtype=np.float64).reshape(-1))
    if not values.size or not np.isfinite(values).all():
        raise ValueError(f"{where}: expected at least one sample, and numbers only")
    return values


def _redrawn(rounds: Sequence[_Round], picks: Array, random: np.random.Generator) -> Array:
    """The time of a shape in each draw of the bootstrap, milliseconds."""
    draws, count = len(picks), len(rounds)
    times = np.empty((draws, count))
    chosen = (picks[:, :count] * count).astype(np.intp)
    for number, each in enumerate(rounds):
        row, column = np.nonzero(chosen == number)
        times[row, column] = _redrawn_round(each, len(row), random)
    return np.median(times, axis=1)


def _redrawn_round(one: _Round, draws: int, random: np.random.Generator) -> Array:
    """The time of a round in each of so many draws of its samples."""
    # Both clocks time the same calls: a draw of calls is a draw of both.
    ranks = _median_ranks(one.event.size, draws, random)
    event = _at_ranks(one.event, ranks)
    if one.wall.size != one.event.size:
        ranks = _median_ranks(one.wall.size, draws, random)
    wall = _at_ranks(one.wall, ranks)
    slope = _at_ranks(one.slope, _median_ranks(one.slope.size, draws, random))
    # A draw of samples around 0 may show no time, of which there is no logarithm.
    return np.maximum(np.maximum(event, wall), np.maximum(slope, one.ms * 1e-3))


def _median_ranks(count: int, draws: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Where in order of size, 0 to 1, the two middle ones of `count` drawn samples lie.

    To draw all samples is not needed: the k-th smallest of n uniform numbers follows a
    Beta(k, n + 1 - k), and the next one the least of the n - k that are left above it (order
    statistics of the uniform distribution). For an odd count both are the middle one.
    """
    middle = (count + 1) // 2
    low = random.beta(middle, count + 1 - middle, draws)
    if count % 2:
        return low, low
    return low, low + (1 - low) * random.beta(1, count - middle, draws)


def _at_ranks(ordered: Array, ranks: tuple[Array, Array]) -> Array:
    """The median of each draw."""
    last = ordered.size - 1
    low, high = (np.minimum((rank * ordered.size).astype(np.intp), last) for rank in ranks)
    return (ordered[low] + ordered[high]) / 2


def _shape(rounds: Sequence[RoundTimes], sampled: Sequence[_Round], redrawn: Array) -> ShapeTimes:
    times = [one.ms for one in sampled]
    ms = median(times)
    clocks = Clocks(
        event_ms=_middle([one.event for one in sampled]),
        wall_ms=_middle([each.wall_ms for each in rounds]),
        slope_ms=_middle([one.slope for one in sampled]),
        event_slope_ms=_middle_if_any([each.event_slope_ms for each in rounds]),
        overhead_ms=_middle([each.overhead_ms for each in rounds]),
        host_ms=_middle_if_any([each.host_ms for each in rounds]),
    )
    spread = float(np.std(times, ddof=1) / np.mean(times)) if len(times) > 1 else None
    return ShapeTimes(ms=ms, interval=_interval(redrawn, ms), clocks=clocks, spread=spread)


def _middle(rounds: Sequence[ArrayLike]) -> float:
    """Median over the rounds of the median of each."""
    return median(float(np.median(np.asarray(samples))) for samples in rounds)


def _middle_if_any(rounds: Sequence[ArrayLike | None]) -> float | None:
    """The same of the rounds that have any; None if none has."""
    said = [samples for samples in rounds if samples is not None]
    return _middle(said) if said else None


def _interval(redrawn: Array, value: float) -> tuple[float, float]:
    """Between which 95 % of the draws lie; it holds the value itself."""
    beyond = (1 - CONFIDENCE) / 2
    low, high = np.quantile(redrawn, [beyond, 1 - beyond])
    return min(float(low), value), max(float(high), value)
