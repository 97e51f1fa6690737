"""What the clocks show on one shape in one round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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

    def slopes(self, overhead: float) -> list[float]:
        """What a call in the long batch of each pair takes, by the parent's clock.

        The larger of two readings: how much longer it took than the short one, for each call more;
        and its own mean, less what an empty call takes. Who dawdles in short batches makes the
        first too small, and who cuts the constant part short the second, by a share of it.
        """
        return [
            max((long.wall - short.wall) / (long.calls - short.calls),
                (long.wall - overhead) / long.calls)
            for short, long in self._pairs()
        ]  # fmt: skip

    def event_slopes(self) -> list[float]:
        """The same by the clock in the solution's process."""
        return [
            max((long.event - short.event) / (long.calls - short.calls), long.event / long.calls)
            for short, long in self._pairs()
        ]

    def _pairs(self) -> Iterator[tuple[Batch, Batch]]:
        for pair in self.batches.values():
            if len(pair) == 2:
                short, long = sorted(pair, key=lambda batch: batch.calls)
                yield short, long
