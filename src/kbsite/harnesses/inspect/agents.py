"""Sub-agents of a sample, which no message tells of: spans within the span of a tool call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kbsite.harnesses.lines import mapping, text

Held = Mapping[str, object]

BESIDE = "beside the conversation"
"""Stands for model calls that are no part of a sample's messages, such as those of a scorer."""
ATTEMPT = "attempt "
"""Begins the name of what a sample did before it was tried again."""
_RESERVED = ("sample ", ATTEMPT, BESIDE)
"""What the names of agents begin with that are no sub-agent's."""


class SubAgent(Struct, frozen=True):
    """An agent that a call of a tool started, or that a conversation was handed to."""

    id: str
    span: str
    name: str
    parent: str
    """The agent that started it."""
    call_id: str
    handed: bool
    """Whether it was given its parent's conversation, and goes on in it."""


class _Spans(Struct):
    """The spans of a sample, as far as they are read."""

    agent: str
    owners: dict[str, SubAgent] = field(default_factory=dict)
    """By the ids of all spans that are a sub-agent's."""
    within: dict[str, str] = field(default_factory=dict)
    """The innermost tool's span around a span, of its own agent."""
    calls: dict[str, str] = field(default_factory=dict)
    """Ids of calls, by the span of the tool or of the agent that they started."""
    handed: set[str] = field(default_factory=set)
    """Ids of calls that hand the conversation over."""
    opened: str = ""
    """The tool's span that began last, before its call is told."""
    taken: set[str] = field(default_factory=set)
    numbered: dict[str, int] = field(default_factory=dict)
    """The last number that was tried for a name: many may have the same."""

    def call(self, event: Held) -> None:
        """Take in a tool's event: it stands next after the beginning of its span."""
        call_id = text(event.get("id"))
        if self.opened:
            self.calls[self.opened] = call_id
            self.opened = ""
        if event.get("agent_span_id"):
            self.calls[text(event["agent_span_id"])] = call_id
        if event.get("agent"):
            self.handed.add(call_id)

    def begin(self, event: Held) -> None:
        """Take in the beginning of a span."""
        span, parent, kind = (text(event.get(key)) for key in ("id", "parent_id", "type"))
        owner, tool = self.owners.get(parent), self.within.get(parent, "")
        if kind == "agent" and tool:
            call_id = self.calls.get(span) or self.calls.get(tool, "")
            name = text(event.get("name"))
            self.owners[span] = SubAgent(
                id=self._free(name),
                span=span,
                name=name,
                parent=owner.id if owner else self.agent,
                call_id=call_id,
                handed=call_id in self.handed,
            )
            return
        if owner:
            self.owners[span] = owner
        if kind == "tool":
            self.opened = span
        if tool := span if kind == "tool" else tool:
            self.within[span] = tool

    def _free(self, name: str) -> str:
        """An id that no other agent of the log has."""
        plain = name or "sub-agent"
        base = f"agent {plain}" if plain.startswith(_RESERVED) else plain
        found, number = base, self.numbered.get(base, 1)
        while found in self.taken:
            number += 1
            found = f"{base} {number}"
        self.numbered[base] = number
        self.taken.add(found)
        return f"{self.agent} {found}".strip()


def sub_agents(happenings: Iterable[object], agent: str) -> dict[str, SubAgent]:
    """The sub-agents of a sample's agent, by the ids of the spans that are theirs."""
    spans = _Spans(agent)
    for item in happenings:
        event = mapping(item)
        match event.get("event"):
            case "tool":
                spans.call(event)
            case "span_begin":
                spans.begin(event)
            case _:
                pass
    return spans.owners
