"""What a session log keeps of what requests to the model begin with: its prompt and its tools."""

from __future__ import annotations

from msgspec import Struct, field

from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.harnesses.tools import definitions
from kbsite.model.event import Event


class Requests(Struct):
    """The system prompts that such rows told."""

    told: dict[str, str] = field(default_factory=dict)
    """By agent."""

    def prompt(self, row: Row, snapshot: str) -> Event:
        """What a row has of the system prompt that neither those before it nor a snapshot told."""
        before = f"{snapshot}\n{self.told.get(row.agent, '')}"
        parts = map(wording, sequence(mapping(row.value.get("shape")).get("system")))
        unseen = "\n\n".join(part for part in parts if part not in before)
        if not unseen:
            return row.trace(row.text("type"))
        self.told[row.agent] = f"{before}\n{unseen}"
        return row.injected(unseen)


def offered(row: Row) -> tuple[tuple[str, ...], str]:
    """The names of the tools that the model may call, and all that it is told of them."""
    tools = sequence(mapping(row.value.get("shape")).get("tools"))
    names = (text(mapping(tool).get("name")) for tool in tools)
    return tuple(filter(None, names)), definitions(tools)
