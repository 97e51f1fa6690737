"""What the clocks show on one shape in one round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from bench.grading.process import Reply
from bench.grading.schedule import Move
from kbsite.model.grade import OutputError

NS_PER_MS = 1e6


@dataclass(frozen=True)
class Batch:
    """A batch: how many calls, and what they took together by both clocks, milliseconds."""

    calls: int
    wall: float
    event: float


@dataclass
class Times:
    """What the clocks showed on one shape in one round, milliseconds, and how far off it was."""

    event: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    """Single calls by the parent's clock, with all that an empty call takes."""
    host: list[float] = field(default_factory=list)
    batches: dict[int, list[Batch]] = field(default_factory=dict)
    """The two batches of each pair."""
    calls: int = 0
    dropped: int = 0
    errors: dict[str, list[OutputError]] = field(default_factory=dict)

    def note(self, move: Move, reply: Reply, wall: int, *, slowed: bool) -> None:
        """Add what both clocks said of a move, nanoseconds; not where the hardware had slowed."""
        if slowed:
            self.dropped += len(move.cases)
        elif move.pair is None:
            self.event.append(reply.event / NS_PER_MS)
            self.host.append(reply.host / NS_PER_MS)
            self.wall.append(wall / NS_PER_MS)
        else:
            batch = Batch(len(move.cases), wall / NS_PER_MS, reply.event / NS_PER_MS)
            self.batches.setdefault(move.pair, []).append(batch)

    @property
    def slopes(self) -> list[float]:
        """How much longer the long batch of each pair took, for each call more in it."""
        return [
            (long.wall - short.wall) / (long.calls - short.calls) for short, long in self._pairs()
        ]

    @property
    def event_slopes(self) -> list[float]:
        """The same by the clock in the solution's process."""
        return [
            (long.event - short.event) / (long.calls - short.calls) for short, long in self._pairs()
        ]

    def excess(self, overhead: float) -> float:
        """How much longer short batches took than as many single calls; median of the pairs.

        A batch of one is a single call by another name. Who dawdles in short batches makes slopes
        too small by a share of that.
        """
        single = median(self.wall) - overhead
        return median(short.wall - overhead - short.calls * single for short, _ in self._pairs())

    def _pairs(self) -> Iterator[tuple[Batch, Batch]]:
        for pair in self.batches.values():
            if len(pair) == 2:
                short, long = sorted(pair, key=lambda batch: batch.calls)
                yield short, long
