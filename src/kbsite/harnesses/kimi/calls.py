"""Tool calls of kimi-cli, whose arguments older versions write in parts.

A `ToolCall` row may hold only the beginning of the arguments; `ToolCallPart` rows bring the rest,
and results of other calls, even whole sub-agents, may stand between them. A part belongs to the
last call of its agent. So the last call of an agent is held back while its arguments are no JSON
object yet, until that agent writes a row that ends the model's message: then, at the latest at the
end of the step, it comes out, with the line of its `ToolCall` row. One call for each agent is all
that is ever held, and a call that is complete at once, as current versions write it, never waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from kbsite.harnesses import tools
from kbsite.harnesses.kimi.vocabulary import called
from kbsite.harnesses.lines import mapping, text
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Notice, ToolCall, Topic


class _Held(Struct):
    call_id: str
    tool: str
    arguments: list[str]
    row: Row
    where: dict[str, Any]

    def call(self) -> ToolCall:
        given = "".join(self.arguments)
        return called(self.tool, given, call_id=self.call_id, **self.where)

    def broken(self) -> Iterator[Event]:
        told = f"The answer broke off within a call of {self.tool}: {''.join(self.arguments)}"
        yield Notice(topic=Topic.INTERRUPTION, text=told, **self.where)
        yield self.row.uncounted()


class Calls(Struct):
    """The last call of each agent, while parts of its arguments may still come."""

    _held: dict[str, _Held] = field(default_factory=dict)

    def begin(self, row: Row, payload: Mapping[str, object]) -> Iterator[ToolCall]:
        """The call that a `ToolCall` row asks for, if its arguments are complete."""
        function = mapping(payload.get("function"))
        given = text(function.get("arguments"))
        held = _Held(text(payload.get("id")), text(function.get("name")), [given], row, row.where())
        if isinstance(tools.arguments(given), str):
            self._held[row.agent] = held
        else:
            yield held.call()

    def more(self, row: Row, payload: Mapping[str, object]) -> None:
        """Add what a `ToolCallPart` row holds to the last call of its agent."""
        if row.agent in self._held:
            self._held[row.agent].arguments.append(text(payload.get("arguments_part")))

    def release(self, agent: str, call_id: str | None = None) -> Iterator[ToolCall]:
        """The call held back for an agent, if it is this one, as far as its parts have come."""
        held = self._held.get(agent)
        if held is not None and call_id in (None, held.call_id):
            del self._held[agent]
            yield held.call()

    def broken(self, agent: str, call_id: str | None = None) -> Iterator[Event]:
        """What was held back for an agent, at a row that no complete answer has behind a call.

        A call whose arguments are still no object was broken off with its answer, of which nothing
        is counted: the CLI asked once more, and the answer begins anew.
        """
        held = self._held.get(agent)
        if held is None or call_id not in (None, held.call_id):
            return
        if isinstance(tools.arguments("".join(held.arguments)), str):
            del self._held[agent]
            yield from held.broken()

    def rest(self) -> Iterator[ToolCall]:
        """The calls still held back at the end of the file."""
        for agent in list(self._held):
            yield from self.release(agent)
