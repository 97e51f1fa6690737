"""Raw timing samples of a grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

COUNTED = ("event", "wall", "slope")
"""The clocks of which the slowest is the time; what others say is held against them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """A line of samples.jsonl: the times that one round measured on one shape."""

    round: int
    """Which round of the grade: a fresh process with fresh inputs."""
    shape: str
    """As metrics.json names it."""
    ms: tuple[float, ...]
    """The times by the slowest of the clocks, whose median is the time of the round, milliseconds,
    in the order of measurement; where there was one clock only, all that it measured."""
    event_ms: tuple[float, ...] = ()
    """Each single call by the clock in the solution's process, milliseconds."""
    wall_ms: tuple[float, ...] = ()
    """Each single call by the parent's clock, milliseconds, with what an empty call takes."""
    slope_ms: tuple[float, ...] = ()
    """By the parent's clock, how much longer each batch took than a single call, for each call more
    in it, milliseconds."""
    event_slope_ms: tuple[float, ...] = ()
    """The same by the clock in the solution's process, milliseconds."""
    overhead_ms: tuple[float, ...] = ()
    """Each empty call by the parent's clock, milliseconds."""
    late_ms: float = 0.0
    """By how much the parent's clock may be late for a single call, milliseconds: so much less of
    it counts as a time."""
    delay_ms: float = 0.0
    """By how much the parent's clock was later after a batch than after a single call, however
    short, in this process before it held any code of the solution, milliseconds; so much of each
    batch is taken off in `slope_ms`."""
    drift: float = 0.0
    """Share of a wait by which it was late on top of that; so much is taken off `slope_ms`."""

    @property
    def clocks(self) -> dict[str, float]:
        """What each clock makes of the round, milliseconds, by name.

        Medians; from the parent's clock the median of the empty calls is taken off.
        """
        made = {"event": self.event_ms, "slope": self.slope_ms, "event_slope": self.event_slope_ms}
        found = {name: median(times) for name, times in made.items() if times}
        if self.wall_ms:
            found["wall"] = median(self.wall_ms) - median(self.overhead_ms or (0.0,))
        return found

    @property
    def time_ms(self) -> float:
        """The time of the round, milliseconds: the slowest clock, else the median of `ms`.

        Each clock counts for as long as it shows for sure.
        """
        late = {"wall": self.late_ms}
        counted = [
            value - late.get(name, 0.0) for name, value in self.clocks.items() if name in COUNTED
        ]
        return max(counted, default=median(self.ms))


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
    time: float
    """The time of the round: the slowest clock."""
    clocks: Mapping[str, float]
    """What each clock makes of it, by name; empty where there was one clock only."""
    single: int = 0
    """Single calls that were timed."""
    batches: int = 0
    """Batches of calls that were."""
    drawn: tuple[float, ...]
    """Some of the samples in order of size, evenly spread, the least and the most among them."""
