"""Which call started which sub-agent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.harnesses.lines import mapping, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import AgentStart, ToolCall, ToolKind

_TOLD = re.compile(r"^agent_id: (\S+)$", re.MULTILINE)
_HEAD = 2000
"""Where the result of an agent call stops to be its head, which names the agent, at the latest."""


class Starts(Struct):
    """The calls that ask for a sub-agent, until the file says which one each of them started."""

    _titles: dict[tuple[str, str], str] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def note(self, call: ToolCall) -> None:
        """Keep a call in mind if it asks for a sub-agent."""
        if call.tool_kind is ToolKind.AGENT:
            held = mapping(call.arguments)
            self._titles[call.agent, call.call_id] = text(held.get("description")) or call.summary

    def started(self, row: Row, child: str, call_id: str, title: str = "") -> Iterator[AgentStart]:
        """The start of a sub-agent, the first time that it is heard of; `row.agent` started it."""
        asked = self._titles.pop((row.agent, call_id), "")
        if child and child not in self._known:
            self._known.add(child)
            yield AgentStart(child=child, call_id=call_id, title=title or asked, **row.where())

    def answered(self, row: Row, call_id: str, output: str) -> Iterator[AgentStart]:
        """The start of a sub-agent that only the result of the call names."""
        if (row.agent, call_id) not in self._titles:
            return
        told = _TOLD.search(output.split("\n\n", 1)[0][:_HEAD])
        yield from self.started(row, told[1] if told else "", call_id)
