"""What a session log keeps of requests to the model: what they begin with, and who answers them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.harnesses.claude.vocabulary import INJECTED_TEXT, INTERRUPTED
from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.harnesses.rows import Place, Row
from kbsite.harnesses.tools import definitions
from kbsite.model.event import Event, Malformed, TokenUse

_LOOKED_AT = 200_000
"""Characters of a snapshot in which parts of a prompt are looked for."""


_WITHIN_A_TOOL = f"{INTERRUPTED} for tool use"
_NOT_ASKED = (INTERRUPTED, "<command-name>", "<bash-input>", *INJECTED_TEXT)
"""How what the CLI notes in a person's place begins: its own commands, and what they printed."""


class Requests(Struct):
    """What rows told of requests, by agent."""

    told: dict[str, set[str]] = field(default_factory=dict)
    """The parts of system prompts."""
    awaited: dict[str, Row] = field(default_factory=dict)
    """What the model was given, and has not answered yet."""
    lost: bool = False
    """Whether somebody interrupted the model before it had answered at all."""

    def prompt(self, row: Row, snapshot: str) -> Event:
        """What a row has of the system prompt that neither those before it nor a snapshot told."""
        told, known = self.told.setdefault(row.agent, set()), snapshot[:_LOOKED_AT]
        parts = map(wording, sequence(mapping(row.value.get("shape")).get("system")))
        unseen = [part for part in dict.fromkeys(parts) if part not in told and part not in known]
        if not unseen:
            return row.trace(row.text("type"))
        told.update(unseen)
        return row.injected("\n\n".join(unseen))

    @property
    def short(self) -> bool:
        """Whether there was a request that no row counts."""
        return self.lost or bool(self.awaited)

    def asked(self, row: Row) -> Iterator[TokenUse]:
        """Take in a row of what the model gets; that nothing counts what was interrupted there."""
        if row.written is None:
            return  # a parent's row repeats some of a sub-agent's, never all
        said = _said(row)
        if said is None or not (said.startswith(_NOT_ASKED) or _is_own(row)):
            self.awaited[row.agent] = row
        elif said.startswith(INTERRUPTED):
            before = self.awaited.pop(row.agent, None)
            if before is not None and not said.startswith(_WITHIN_A_TOOL):
                self.lost = True
                yield row.uncounted()

    def answered(self, row: Row) -> None:
        """Take in a row of the model's, or of an error that the CLI puts in its place."""
        self.awaited.pop(row.agent, None)

    def rest(self, last: Row | Malformed | None) -> Iterator[TokenUse]:
        """That nothing counts the requests that were still to be answered at the last row."""
        if isinstance(last, Malformed):
            place = Place(last.source.file, last.source.line, last.source.part + 1)
            last = Row({}, None, place)
        for agent, row in self.awaited.items():
            yield (last or row).of(agent, row.at).uncounted()


def _said(row: Row) -> str | None:
    """The first text of a row; None for one with results of tools."""
    content = mapping(row.value.get("message")).get("content")
    blocks = [mapping(block) for block in sequence(content)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return None
    return next((text(block.get("text")) for block in blocks), text(content)).lstrip()


def _is_own(row: Row) -> bool:
    """Whether the CLI wrote a row that nobody need have answered."""
    return row.value.get("isMeta") is True or row.value.get("isCompactSummary") is True


def offered(row: Row) -> tuple[tuple[str, ...], str]:
    """The names of the tools that the model may call, and all that it is told of them."""
    tools = sequence(mapping(row.value.get("shape")).get("tools"))
    names = (text(mapping(tool).get("name")) for tool in tools)
    return tuple(filter(None, names)), definitions(tools)
