"""The content of a message: the same blocks on stdout and on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kbsite.harnesses.cursor.vocabulary import KINDS
from kbsite.harnesses.lines import mapping, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Message, Role, Thought


def message(row: Row, role: Role) -> Iterator[Event]:
    """What a row's message says, block by block."""
    held = row.value.get("message")
    content = mapping(held).get("content", None if isinstance(held, dict) else held)
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield row.event(Message, role=role, text=item)
        elif isinstance(item, dict):
            yield _block(row, item, role)
        elif item is not None:
            yield row.unknown(f"block:{type(item).__name__}", item)


def _block(row: Row, block: Mapping[str, object], role: Role) -> Event:
    match block.get("type"):
        case "text":
            return row.event(Message, role=role, text=text(block.get("text")))
        case "thinking":
            return row.event(Thought, text=text(block.get("thinking", block.get("text"))))
        case "image":
            return row.event(Message, role=role, text="", images=(picture_in(block),))
        case "tool_use":
            call_id = text(block.get("id"))
            return row.call(KINDS, text(block.get("name")), block.get("input"), call_id)
        case kind:
            return row.unknown(f"block:{text(kind)}", block)
