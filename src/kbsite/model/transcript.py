"""A transcript as a page shows it: calls with their results, sub-agents nested, edits as diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct, field

from kbsite.model.event import AnyEvent, Finish, Malformed, Session, ToolResult
from kbsite.model.usage import Usage


class DiffLine(NamedTuple):
    """One line of a diff."""

    sign: str
    """"+" added, "-" removed, " " context, "@" a jump within the file."""
    text: str


_SIGN = itemgetter(0)


class FileDiff(Struct, frozen=True):
    """What a call changed in one file."""

    path: str
    action: str
    """add, update, delete or move; write where the file's earlier content is not known; unknown
    where a shell command may have changed it."""
    lines: tuple[DiffLine, ...]
    replayed: bool = False
    """Whether it was told from a shell command, and not by the CLI."""
    after: str | None = None
    """What the file holds after a shell command that was replayed."""
    anew: bool = False
    """Whether the call gave the whole file, in place of a text that earlier calls tell."""
    everywhere: bool = False
    """Whether it was made in every place that held a text, and nothing tells how many there were:
    the lines are those of one."""
    failed: bool = False
    """Whether its call failed: it is what was asked for, and no change."""
    untold: bool = False
    """Whether the CLI says that there was a change, and not which."""
    otherwise: bool = False
    """Whether the CLI says that it changed something else than its call asked for: the lines are
    what it says."""

    @property
    def told(self) -> str:
        """The action in words, and where it is known from."""
        if self.failed:
            return f"{self.action}, which failed"
        if self.untold:
            return f"{self.action}, of which the CLI does not tell the text"
        if self.otherwise:
            return f"{self.action}, other than the call asked for: as the CLI tells it"
        if not self.replayed:
            return self.action
        if self.action == "unknown":
            return "may have been changed by the shell command: unknown from here on"
        return f"{self.action}, replayed from the shell command"

    @property
    def added(self) -> int:
        """Number of lines added."""
        return [*map(_SIGN, self.lines)].count("+")

    @property
    def removed(self) -> int:
        """Number of lines removed."""
        return [*map(_SIGN, self.lines)].count("-")


class Step(Struct, frozen=True, kw_only=True):
    """One item of the page: an event, and what belongs to it."""

    event: AnyEvent
    anchor: str
    """Its permalink within the page: "L12" for line 12 of the main file."""
    elapsed: float | None = None
    """Seconds since the first moment that the transcript tells, by a clock that is never set."""
    behind: float = 0.0
    """Seconds by which the clock of its rows had been set back by then, or that are less than 0
    where it was ahead: `elapsed` has them, the times of its event and its result have not."""
    leapt: float = 0.0
    """Seconds by which the clock leapt ahead while its call was under way, which were taken back
    later: its call took so much less."""
    result: ToolResult | None = None
    result_anchor: str = ""
    diffs: tuple[FileDiff, ...] = ()
    agents: tuple[AgentLog, ...] = ()
    """The sub-agents that this call started."""
    usage: Usage = field(default_factory=Usage)
    """Tokens of the model message that ends with this step."""

    @property
    def ended(self) -> float | None:
        """When it was over, its result included, as `elapsed` counts; None if unknown."""
        begun, over = self.event.at, self.result.at if self.result else None
        if self.elapsed is None or begun is None or over is None:
            return self.elapsed
        return self.elapsed + max(0.0, (over - begun).total_seconds() - self.leapt)


class AgentLog(Struct, frozen=True, kw_only=True):
    """What one agent did."""

    id: str
    """Empty for the main agent."""
    title: str
    steps: Sequence[Step]
    usage: Usage

    @property
    def every_step(self) -> Iterator[Step]:
        """Its steps and those of the sub-agents below it."""
        for step in self.steps:
            yield step
            for agent in step.agents:
                yield from agent.every_step


class Transcript(Struct, frozen=True, kw_only=True):
    """A whole transcript. Large: one is held at a time."""

    format: str
    """Id of the format that is shown."""
    title: str
    """Name of that format."""
    files: tuple[str, ...]
    """The files that it was read from, within transcript/."""
    main: AgentLog
    unlinked: tuple[AgentLog, ...]
    """Sub-agents that nothing ties to a call."""
    session: Session | None
    """The first thing that the CLI said of itself."""
    finish: Finish | None
    """The CLI's last completion event, from a poorer file where the one shown has none; None if it
    wrote none anywhere, was killed, or went on after it and came to no end again."""
    ends: int
    """How often the session came to an end, in the file shown: sub-agents' ends are none of it."""
    models: tuple[str, ...]
    """The models that rows name, in order of appearance."""
    usage: Usage
    """All agents' tokens: the CLI's own total where it gives one, else counted once per message."""
    usage_told: bool
    """Whether `usage` is the CLI's own total."""
    lower_bound: bool
    """Whether `usage` counts too little: the CLI only told counts at a message's start, no total of
    a session that came to no end, or nothing of a sub-agent that it started."""
    cost_usd: float | None
    """What the CLI says that it cost."""
    first: datetime | None
    last: datetime | None
    """Its first and last moment, by the clock that it began with."""
    late: bool = False
    """Whether the model had worked before the first of them, for a time that nothing tells: no
    step has seconds then."""
    kinds: Mapping[str, int]
    """Number of events by kind."""
    unknown: Mapping[str, int]
    """Number of unknown events by type."""
    malformed: tuple[Malformed, ...]
    aside: bool = False
    """Whether it is so large that what its steps tell lies in a file."""

    @property
    def agents(self) -> tuple[AgentLog, ...]:
        """The main agent, and the sub-agents that nothing ties to a call."""
        return (self.main, *self.unlinked)
