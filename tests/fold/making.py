"""Hand-made events: a file in which every event has a line of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from kbsite.fold.steps import Fold
from kbsite.model.event import (
    AgentStart,
    Edit,
    Event,
    Message,
    Role,
    Scope,
    Source,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
)
from kbsite.model.transcript import AgentLog, Transcript
from kbsite.model.usage import Usage

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Log:
    """Makes events that stand in the lines of one file, one after the other."""

    def __init__(self, file: str = "main.jsonl") -> None:
        self.file = file
        self._lines = count(1)

    @property
    def source(self) -> Source:
        """The next line."""
        return Source(self.file, next(self._lines))

    def say(
        self, text: str = "hello", *, agent: str = "", at: float | None = None, model: str = ""
    ) -> Message:
        """A message of the model."""
        return Message(
            source=self.source, role=Role.ASSISTANT, text=text, agent=agent, model=model,
            at=None if at is None else START + timedelta(seconds=at),
        )  # fmt: skip

    def call(self, call_id: str, *, agent: str = "", edits: Sequence[Edit] = ()) -> ToolCall:
        """A call."""
        return ToolCall(
            source=self.source, call_id=call_id, tool="t", tool_kind=ToolKind.OTHER, arguments={},
            agent=agent, edits=tuple(edits),
        )  # fmt: skip

    def result(
        self, call_id: str, output: str = "done", *, agent: str = "", failed: bool | None = None
    ) -> ToolResult:
        """What came back from a call."""
        return ToolResult(
            source=self.source, call_id=call_id, output=output, agent=agent, is_error=failed
        )

    def start(self, child: str, call_id: str, *, agent: str = "", title: str = "") -> AgentStart:
        """A sub-agent, tied to a call of `agent`."""
        return AgentStart(
            source=self.source, child=child, call_id=call_id, agent=agent, title=title
        )

    def use(
        self,
        output: int | None,
        *,
        message: str = "",
        scope: Scope = Scope.MESSAGE,
        agent: str = "",
        cost: float | None = None,
        lower_bound: bool = False,
    ) -> TokenUse:
        """A token count."""
        return TokenUse(
            source=self.source, usage=Usage(output=output), scope=scope, message_id=message,
            agent=agent, cost_usd=cost, lower_bound=lower_bound,
        )  # fmt: skip


def folded(*events: Event) -> Transcript:
    """The transcript of some events."""
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.transcript("fake", "Fake", ("main.jsonl",))


def outline(log: AgentLog) -> list[object]:
    """The lines of an agent's steps; below a line, in a list, what its sub-agents did."""
    found: list[object] = []
    for step in log.steps:
        found.append(step.anchor)
        found += [[agent.id, *outline(agent)] for agent in step.agents]
    return found
