"""What the clocks show on one shape in one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.grading.process import Reply
from bench.grading.schedule import Move
from kbsite.model.grade import OutputError

NS_PER_MS = 1e6

MOST_DRIFT = 0.01
"""Share of a wait that the parent's clock may be late by and that is taken off: 0.003 was seen."""

MOST_DELAY_MS = 0.1
"""What it may be late by after each batch, and that is taken off: 0.03 was seen."""


@dataclass(frozen=True)
class Batch:
    """Calls on one command: how many, and what they took together by both clocks, milliseconds."""

    calls: int
    wall: float
    event: float


@dataclass(frozen=True)
class Lateness:
    """By how much the parent's clock is later after a batch than after an empty call."""

    delay_ms: float = 0.0
    """However short the batch is."""
    drift: float = 0.0
    """Share of the wait that comes on top."""

    @classmethod
    def of(cls, wall: Sequence[float], short: Sequence[Batch], long: Sequence[Batch]) -> Lateness:
        """By empty calls, and by those that kept the device busy: a line through both medians."""
        (soon, early), (late, after) = (
            (median([one.event for one in held]), median([one.wall - one.event for one in held]))
            for held in (short, long)
        )
        drift = min(max((after - early) / (late - soon), 0.0), MOST_DRIFT)
        delay = early - median(wall) - drift * soon
        return cls(min(max(delay, 0.0), MOST_DELAY_MS), drift)


@dataclass(frozen=True)
class Empty:
    """What calls of nothing showed before any code of a solution was in the process."""

    wall: tuple[float, ...]
    """Each by the parent's clock, milliseconds."""
    late: Lateness = Lateness()


@dataclass
class Times:
    """What the clocks showed on one shape in one round, milliseconds, and how far off it was."""

    event: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    """Single calls by the parent's clock, with all that an empty call takes."""
    host: list[float] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    calls: int = 0
    dropped: int = 0
    """Of them those that were not timed, as the hardware had slowed down, nor made again."""
    errors: dict[str, list[OutputError]] = field(default_factory=dict)

    def note(self, move: Move, reply: Reply, wall: int, *, slowed: bool) -> None:
        """Add what both clocks said of a move, nanoseconds; not where the hardware had slowed."""
        if slowed:
            return
        if move.batch:
            batch = Batch(len(move.cases), wall / NS_PER_MS, reply.event / NS_PER_MS)
            self.batches.append(batch)
        else:
            self.event.append(reply.event / NS_PER_MS)
            self.host.append(reply.host / NS_PER_MS)
            self.wall.append(wall / NS_PER_MS)

    def usual(self, calls: int) -> float:
        """What a move of so many calls takes by the parent's clock, as far as is known by now."""
        batches = [one.wall / one.calls for one in self.batches]
        return calls * median(batches or self.wall or [0.0])

    def slopes(self, late: Lateness) -> list[float]:
        """How much longer each batch took than a single call, for each call more in it.

        Whatever comes with every move, long or short, is in both and falls out; what the clock is
        late by for batches alone is taken off.
        """
        single = median(self.wall) if self.wall else 0.0
        return [
            ((1 - late.drift) * (batch.wall - single) - late.delay_ms) / (batch.calls - 1)
            for batch in self.batches
        ]

    @property
    def event_slopes(self) -> list[float]:
        """The same by the clock in the solution's process."""
        single = median(self.event) if self.event else 0.0
        return [(batch.event - single) / (batch.calls - 1) for batch in self.batches]
