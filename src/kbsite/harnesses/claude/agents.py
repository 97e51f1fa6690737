"""Sub-agents: which call started which, by ids."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.claude.content import blocks
from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import mapping, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import AgentStart, Event, ToolCall, ToolKind


class Asked(Struct, frozen=True):
    """A call for a sub-agent."""

    agent: str
    title: str
    prompt: str


class Agents(Struct):
    """The sub-agents of a file: the calls for them, and those that a start was given out for."""

    asked: dict[str, Asked] = field(default_factory=dict)
    """By call id."""
    prompted: dict[str, deque[str]] = field(default_factory=dict)
    """Ids of calls by prompt, in their order; of those that ask for it no more, too."""
    started: set[str] = field(default_factory=set)
    sidechains: dict[str, str] = field(default_factory=dict)
    """Rows of sub-agents that have no id of their own: the row's uuid to that of the first row."""

    def noting(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as they come; the calls for sub-agents among them are remembered."""
        for event in events:
            if isinstance(event, ToolCall) and event.tool_kind is ToolKind.AGENT:
                held = mapping(event.arguments)
                title = text(held.get("description")) or event.summary
                prompt = text(held.get("prompt")).strip()
                self.asked[event.call_id] = Asked(event.agent, title, prompt)
                self.prompted.setdefault(prompt, deque()).append(event.call_id)
            yield event

    def start(
        self, row: Row, child: str, call_id: str, title: str = "", owner: str = ""
    ) -> Iterator[AgentStart]:
        """The start of a sub-agent by a call, the first time that the file tells of it.

        `title` and `owner` are what the row says of the call; the call itself knows better.
        """
        if not child or child in self.started:
            return
        self.started.add(child)
        asked = self.asked.get(call_id)
        yield row.event(
            AgentStart,
            agent=asked.agent if asked else owner,
            child=child,
            call_id=call_id,
            title=title or (asked.title if asked else ""),
        )

    def sidechain(self, row: Row) -> str:
        """The sub-agent of a row that only says that it belongs to one: the id of its first row."""
        own = row.text("uuid")
        first = self.sidechains.get(row.text("parentUuid"), own)
        self.sidechains[own] = first
        return first

    def start_by_prompt(self, row: Row, child: str) -> Iterator[AgentStart]:
        """The start of a sub-agent whose first row repeats the prompt of the call for it."""
        if child in self.started:
            return
        message = mapping(row.value.get("message"))
        prompt = wording(list(blocks(message.get("content")))).strip()
        call_id = self._prompting(prompt) if prompt else ""
        yield from self.start(row, child, call_id)

    def _prompting(self, prompt: str) -> str:
        """The first call with this prompt that started nothing yet; empty where there is none."""
        waiting = self.prompted.get(prompt)
        while waiting:
            call_id = waiting.popleft()
            asked = self.asked[call_id]
            if asked.prompt == prompt:
                # Two calls may have the same prompt: each starts one sub-agent.
                self.asked[call_id] = replace(asked, prompt="")
                return call_id
        return ""
