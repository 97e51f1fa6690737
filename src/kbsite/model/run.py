"""One session of one contender on one problem: who, what, when, on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from math import inf
from typing import Final, Literal

from kbsite.model.floor import FloorKind
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage

FORMAT: Final = 1
"""Version of the run directory's format that this kbsite reads and writes."""

FLOOR_HARNESS: Final = "floor"
"""Stands for the harness of a run that no agent made: a floor, graded as a solution is."""

ESTIMATE: Final = "estimate"
"""How `cost_source` begins where no CLI counted the cost, but somebody's list of prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine that the agent worked on. Null where it was not recorded."""

    gpu: str | None = None
    gpu_memory_bytes: int | None = None
    driver: str | None = None
    cuda: str | None = None
    torch: str | None = None
    triton: str | None = None
    cpu: str | None = None
    os: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """run.json: identity and provenance of a run. Null where it was not recorded, never a guess."""

    format: Literal[1]
    """Version of the run directory's format."""
    id: str
    """Equal to the folder's name."""
    board: str
    problem: str
    """Id of the problem: the name of its folder under problems/."""
    problem_hash: str | None
    """SHA-256 of the problem's files, as the agent got them."""
    prompt_hash: str | None
    """SHA-256 of the prompt, as the agent got it."""
    harness: str
    """Id of the CLI that drove the model."""
    harness_version: str | None
    model: str
    effort: str | None
    """Reasoning effort asked for; null where the CLI was not asked for one."""
    variant: str | None = None
    """Sets a contender apart where harness, model and effort do not: a rerun with its own row."""
    provider: str | None = None
    base_url_host: str | None = None
    command: tuple[str, ...] | None = None
    """The CLI's command line."""
    environment: tuple[str, ...] | None = None
    """Names, never values, of the environment variables passed."""
    hardware: str | None
    """Id of the hardware that the board names."""
    host: Host = field(default_factory=Host)
    budget_seconds: float | None
    """Wall-clock budget; null where there was none, or none was recorded."""
    started: datetime | None
    """With time zone."""
    ended: datetime | None
    seconds: float | None = None
    """How long the session took, where only that is known."""
    exit_code: int | None = None
    signal: str | None = None
    end_reason: EndReason
    end_detail: str | None = None
    """A sentence: by which event the reason was decided."""
    usage: Usage = field(default_factory=Usage)
    usage_source: str | None = None
    """Which file and count the usage comes from."""
    answers: int | None = None
    """Whole answers that models gave, as a proxy saw them; null where nobody counted."""
    cost_usd: float | None = None
    cost_source: str | None = None
    """What tells the cost; begins with "estimate" where that is no CLI, but a list of prices."""
    sandbox: str | None = None
    """Level of the sandbox that the agent worked in."""
    kbsite_version: str | None = None
    git_commit: str | None = None
    origin: str | None = None
    """Where an imported run comes from; null for one of our own."""
    notes: tuple[str, ...] = ()
    """Sentences that the run's page has to show: what is special about this run."""

    @property
    def elapsed_seconds(self) -> float | None:
        """How long the session took; None if that was not recorded."""
        told = self.clocked_seconds
        # Rows of a transcript may have times from the first result on only.
        return None if told is None else max(told, self.seconds or 0.0)

    @property
    def clocked_seconds(self) -> float | None:
        """Seconds between the moments that are recorded, or how long it took without them."""
        # A clock that was set back between the two tells nothing.
        if self.started and self.ended and self.ended >= self.started:
            return (self.ended - self.started).total_seconds()
        return self.seconds

    @property
    def day(self) -> date | None:
        """The day on which it began, in UTC, as pages tell it; None if that was not recorded."""
        if self.started is None:
            return None
        try:
            return self.started.astimezone(UTC).date()
        except OverflowError:
            # A time of the first or last day that there is, in another zone.
            return self.started.date()

    @property
    def order(self) -> tuple[float, str]:
        """What attempts are put in order by: start, unknown ones first, then id."""
        return (self.started.timestamp() if self.started else -inf, self.id)

    @property
    def cost_is_estimate(self) -> bool:
        """Whether its cost is one that no CLI counted."""
        return self.cost_usd is not None and (self.cost_source or "").startswith(ESTIMATE)

    @property
    def cut(self) -> bool:
        """Whether the wall-clock budget stopped the agent."""
        return self.end_reason is EndReason.BUDGET

    @property
    def floor(self) -> FloorKind | None:
        """Which floor it is; None for a contender's run."""
        if self.harness != FLOOR_HARNESS:
            return None
        return next((kind for kind in FloorKind if kind.value == self.model), None)

    @property
    def is_floor(self) -> bool:
        """Whether no agent made it: it stands on boards as a floor, and counts nowhere else."""
        return self.harness == FLOOR_HARNESS

    def broken_off(self, *, solution: bool) -> str | None:
        """What provider or harness did to it, so that it says nothing of its contender.

        None where it does say something; `solution` is whether it wrote one, be it gone since:
        who takes his back and waits is given no other session.
        """
        match self.end_reason:
            case EndReason.PROVIDER:
                return "the provider failed"
            case EndReason.HARNESS | EndReason.ERROR if not self.usage.output and not self.answers:
                # Some providers tell no usage of what they answer.
                return "the harness failed before the model had answered"
            case EndReason.STALLED if not solution:
                return "it stalled, and wrote no solution"
            case _:
                return None

    @property
    def contender(self) -> Contender:
        """Whose run it is."""
        return _contender(self.harness, self.model, self.effort, self.variant)


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of a board: harness + model + effort."""

    harness: str
    model: str
    effort: str | None = None
    variant: str | None = None

    @property
    def label(self) -> str:
        """Such as "claude · opus-x [max]"."""
        effort = f" [{self.effort}]" if self.effort else ""
        variant = f" ({self.variant})" if self.variant else ""
        return f"{self.harness} · {self.model}{effort}{variant}"


@lru_cache(maxsize=10_000)
def _contender(harness: str, model: str, effort: str | None, variant: str | None) -> Contender:
    """The same for all runs of it: there are thousands of runs, and each is asked often."""
    return Contender(harness, model, effort, variant)
