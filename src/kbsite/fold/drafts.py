"""Steps while their results, diffs and sub-agents may still come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import cast

from msgspec import Struct, field

from kbsite.fold.aside import Aside, Place, StepAside, Told
from kbsite.model.event import AnyEvent, Event, ToolCall, ToolResult, Trace
from kbsite.model.transcript import AgentLog, FileDiff, Step
from kbsite.model.usage import Usage, total


class Draft(Struct):
    """A step while its result, diffs and sub-agents may still come."""

    event: Event
    anchor: str
    result: ToolResult | None = None
    result_anchor: str = ""
    diffs: list[FileDiff] = field(default_factory=list)
    before: tuple[str | None, ...] = ()
    """What its diffs were taken against, until its result comes."""
    usages: dict[str, Usage] = field(default_factory=dict)
    """Tokens by message: one that has no row of its own is counted at the row before it."""
    gone: bool = False
    """Whether it turned out to be the result of a later call, and is shown there."""
    place: Place | None = None
    """Where what it tells was laid aside; here is no more of it then than where its event stands,
    and which call it is."""

    def lay_aside(self, aside: Aside[Told]) -> None:
        """Put what it tells into a file; what cannot be put there stays."""
        event = cast("AnyEvent", self.event)
        self.place = aside.put(Told(event, self.result, tuple(self.diffs)))
        if self.place is not None:
            self.event, self.result, self.diffs = _outline(event), None, []

    def take_back(self, aside: Aside[Told]) -> None:
        """Have what it tells again, if it was laid aside."""
        if self.place is not None:
            told = aside.at(self.place)
            self.event, self.result, self.diffs = told.event, told.result, [*told.diffs]
            self.place = None

    def step(
        self, first: datetime | None, agents: tuple[AgentLog, ...], aside: Aside[Told] | None
    ) -> Step:
        """The step, with the sub-agents that it started; `first` is when the session began."""
        at = self.event.at
        elapsed = (at - first).total_seconds() if at and first else None
        usage = total(self.usages.values())
        if aside is not None and self.place is None:
            # A call that nothing came back from, or a result that no call asked for.
            self.lay_aside(aside)
        if aside is not None and self.place is not None:
            told = StepAside(
                aside=aside, place=self.place, anchor=self.anchor, elapsed=elapsed,
                result_anchor=self.result_anchor, agents=agents, usage=usage,
            )  # fmt: skip
            # It answers all that a step is asked.
            return cast("Step", told)
        return Step(
            event=cast("AnyEvent", self.event),
            anchor=self.anchor,
            elapsed=elapsed,
            result=self.result,
            result_anchor=self.result_anchor,
            diffs=tuple(self.diffs),
            agents=agents,
            usage=usage,
        )


def given_up(drafts: list[Draft]) -> Iterator[Draft]:
    """All of some drafts, none of which is there afterwards.

    Memory has no room for all drafts of a long transcript and all its steps.
    """
    drafts.reverse()
    while drafts:
        yield drafts.pop()


def _outline(event: Event) -> Event:
    """Where an event stands, and which call it is."""
    source, at, agent = event.source, event.at, event.agent
    if isinstance(event, ToolCall):
        return ToolCall(
            source=source, at=at, agent=agent, call_id=event.call_id, tool=event.tool,
            tool_kind=event.tool_kind, arguments="",
        )  # fmt: skip
    return Trace(source=source, at=at, agent=agent, type="", raw="")
