"""The trajectory of a run: scores as the agent saw them, solutions as they stood, where time went.

Everything here is what the transcript tells of itself; the grade is in `kbsite.model.run.Metrics`.
Seconds count from the first moment that the transcript tells, as `Step.elapsed` does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum

from msgspec import Struct, field

from kbsite.model.event import ToolKind
from kbsite.model.usage import Usage


class PointKind(Enum):
    """What happened at a point."""

    CHECK = "check"
    """A check of the solution said whether it is correct."""
    BENCHMARK = "benchmark"
    """A benchmark of the solution printed a number or a judgement."""
    EDIT = "edit"
    """solution.py changed, or may have been changed by a command."""
    SUBMIT = "submit"
    """The session ended: what was there then is what was graded."""


class Point(Struct, frozen=True, kw_only=True):
    """Something that happened to the solution, and when."""

    kind: PointKind
    anchor: str
    """The step that it is told in."""
    at: datetime | None
    elapsed: float | None
    tokens: int | None
    """Tokens that the main agent had sent and got until then; None where none were counted."""
    used: Usage = field(default_factory=Usage)
    """The same by kind."""
    passed: bool | None = None
    """What a check said, or the grade for the end of the session; None where nothing says it."""
    score: float | None = None
    """peak_fraction, as the benchmark printed it, or the graded one at the end of the session."""
    speedup: float | None = None
    """Speed-up over a baseline, as the benchmark printed it."""
    rejected: bool = False
    """Whether a benchmark timed what the last check of the same solution had found to be wrong."""
    text: str
    """The line that was recognised; for an edit, what changed."""
    state: int | None = None
    """Index of the solution as it stood then; None before the first that is known of."""

    @property
    def valid_score(self) -> float | None:
        """The score of a benchmark; None where its solution was rejected, which says nothing."""
        return self.score if self.kind is PointKind.BENCHMARK and not self.rejected else None


class SolutionState(Struct, frozen=True, kw_only=True):
    """solution.py after one change."""

    anchor: str
    """The step that changed it."""
    at: datetime | None
    elapsed: float | None
    content: str | None
    """Its text; None where that cannot be told, or where there was no file any more."""
    text: str
    """What changed it."""
    begun: datetime | None = None
    """When the call that changed it began; `at` is when it ended."""


class SlowCall(Struct, frozen=True):
    """A call that took long."""

    anchor: str
    tool: str
    """The CLI's own name for it."""
    seconds: float
    summary: str


class ContextSize(Struct, frozen=True):
    """How much one model message of the main agent was sent."""

    anchor: str
    elapsed: float | None
    sent: int


class Compaction(Struct, frozen=True):
    """A compaction of the main agent's context."""

    anchor: str
    elapsed: float | None
    messages: int
    """Number of context sizes that stand before it."""


class VitalSigns(Struct, frozen=True, kw_only=True):
    """Where the time and the tokens went. Times are the main agent's."""

    span: float | None
    """Seconds from the first to the last row that matters; None where rows tell no time."""
    model: float | None
    """Seconds in which no call was open and the model's next words came at the end."""
    silent: float | None
    """Seconds before the end of a session that was cut of which no row tells; None for few."""
    idle: float | None
    """Seconds in which neither a call was open nor the model at work: retries, pauses."""
    tools: Mapping[ToolKind, float]
    """Seconds with a call open, by kind of tool; where several are, to the one that began first."""
    calls: Mapping[ToolKind, int]
    """Number of calls of all agents, by kind of tool."""
    failed: int
    """How many of them ended in an error, or with an exit code that is not 0."""
    retries: int
    """Requests to a model that the CLI says it made again."""
    edits: int
    """Changes of solution.py."""
    added: int
    """Lines that these wrote, as far as their diffs tell."""
    removed: int
    """Lines that they took out."""
    unclear: int
    """How many of the changes were made by commands, say, and nothing tells all of their lines."""
    slowest: tuple[SlowCall, ...]
    """The slowest calls of all agents, the slowest first."""
    usage: Usage
    """All agents' tokens, as `Transcript.usage` has them."""
    context: Sequence[ContextSize]
    compactions: tuple[Compaction, ...]
    correct: Point | None
    """The first check that passed."""


class Trajectory(Struct, frozen=True, kw_only=True):
    """How a run came to its solution."""

    points: tuple[Point, ...]
    """In the order in which they happened."""
    states: tuple[SolutionState, ...]
    spent: Collection[tuple[float, int | None]]
    """Seconds, and the tokens until then, wherever the main agent's messages took some."""
    signs: VitalSigns
    budget: float | None
    """The wall-clock budget, in seconds from the start of the session."""
    end: float | None
    """Seconds that the session took; what the transcript tells where nobody recorded it."""

    @property
    def best(self) -> Point | None:
        """The highest score that the agent itself saw; the first one of equals."""
        seen = [point for point in self.points if point.valid_score is not None]
        return max(seen, key=lambda point: point.score or 0, default=None)
