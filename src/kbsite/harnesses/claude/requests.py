"""What a session log keeps of what requests to the model begin with: its prompt and its tools."""

from __future__ import annotations

from msgspec import Struct, field

from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.rows import Row
from kbsite.harnesses.tools import definitions
from kbsite.model.event import Event

_LOOKED_AT = 200_000
"""Characters of a snapshot in which parts of a prompt are looked for."""


class Requests(Struct):
    """The parts of system prompts that such rows told."""

    told: dict[str, set[str]] = field(default_factory=dict)
    """By agent."""

    def prompt(self, row: Row, snapshot: str) -> Event:
        """What a row has of the system prompt that neither those before it nor a snapshot told."""
        told, known = self.told.setdefault(row.agent, set()), snapshot[:_LOOKED_AT]
        parts = map(wording, sequence(mapping(row.value.get("shape")).get("system")))
        unseen = [part for part in dict.fromkeys(parts) if part not in told and part not in known]
        if not unseen:
            return row.trace(row.text("type"))
        told.update(unseen)
        return row.injected("\n\n".join(unseen))


def offered(row: Row) -> tuple[tuple[str, ...], str]:
    """The names of the tools that the model may call, and all that it is told of them."""
    tools = sequence(mapping(row.value.get("shape")).get("tools"))
    names = (text(mapping(tool).get("name")) for tool in tools)
    return tuple(filter(None, names)), definitions(tools)
