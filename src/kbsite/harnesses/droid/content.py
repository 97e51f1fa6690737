"""Messages of droid's session log, block by block; the blocks are those of Anthropic's API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbsite.harnesses.lines import dump, mapping, sequence, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import (
    Event,
    Image,
    Message,
    Notice,
    Role,
    Thought,
    ToolKind,
    ToolResult,
    Topic,
)

KINDS = {
    "ApplyPatch": ToolKind.EDIT,
    "AskUser": ToolKind.OTHER,
    "Create": ToolKind.WRITE,
    "Edit": ToolKind.EDIT,
    "Execute": ToolKind.RUN,
    "ExitSpecMode": ToolKind.PLAN,
    "FetchUrl": ToolKind.WEB,
    "Glob": ToolKind.SEARCH,
    "Grep": ToolKind.SEARCH,
    "LS": ToolKind.READ,
    "MultiEdit": ToolKind.EDIT,
    "Read": ToolKind.READ,
    "Skill": ToolKind.READ,
    "Task": ToolKind.AGENT,
    "TodoWrite": ToolKind.PLAN,
    "WebSearch": ToolKind.WEB,
}
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_PUT_IN = re.compile(r"<system-reminder>|Contents of \S[^\n]* \(lines \d+-\d+ of \d+\):\n")
"""How a text begins that droid puts beside what a person said: a note, or a file named by @."""
_FOR_THE_USER = "user_only"
_FOR_THE_MODEL = "llm_only"


def message(row: Row) -> Iterator[Event]:
    """What a message row says."""
    said = mapping(row.value.get("message"))
    role = _ROLES.get(text(said.get("role")))
    if role is None:
        yield row.unknown(f"message:{text(said.get('role'))}")
        return
    content = said.get("content")
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield _text(row, said, role, item)
        elif isinstance(item, dict):
            yield _block(row, said, role, item)
        elif item is not None:
            yield row.unknown(f"block:{type(item).__name__}", item)


def _block(row: Row, said: Mapping[str, object], role: Role, block: Mapping[str, object]) -> Event:
    match block.get("type"):
        case "text":
            return _text(row, said, role, text(block.get("text")))
        case "thinking":
            thought = text(block.get("thinking"))
            sealed = not thought and bool(block.get("signature"))
            return row.event(Thought, text=thought, encrypted=sealed)
        case "redacted_thinking":
            return row.event(Thought, text="", encrypted=True)
        case "image":
            return row.event(Message, role=role, text="", images=(picture_in(block),))
        case "document":
            told = f"Document attached: {text(block.get('title')) or 'without a title'}"
            return row.event(Notice, topic=Topic.NOTE, text=told, raw=dump(block))
        case "tool_use":
            call_id = text(block.get("id"))
            return row.call(KINDS, text(block.get("name")), block.get("input"), call_id)
        case "tool_result":
            return _result(row, block)
        case kind:
            return row.unknown(f"block:{text(kind)}", block)


def _text(row: Row, said: Mapping[str, object], role: Role, told: str) -> Event:
    """What a person or the model said, or droid in their place."""
    shown_to = said.get("visibility", row.value.get("visibility"))
    if shown_to == _FOR_THE_USER:
        return row.event(Notice, topic=Topic.NOTE, text=told)
    own = role is Role.USER and (shown_to == _FOR_THE_MODEL or bool(_PUT_IN.match(told)))
    model = text(said.get("model")) if role is Role.ASSISTANT else ""
    return row.event(Message, role=role, text=told, injected=own, model=model)


def _result(row: Row, block: Mapping[str, object]) -> ToolResult:
    content = block.get("content")
    output, images = text(content), tuple[Image, ...]()
    recorded: Mapping[str, object] | str = ""
    if isinstance(content, list):
        parts = [mapping(part) for part in content]
        images = tuple(picture_in(part) for part in parts if part.get("type") == "image")
        output = "\n".join(text(part["text"]) for part in parts if "text" in part)
        odd = [part for part in sequence(content) if not _is_shown(mapping(part))]
        recorded = {"content": odd} if odd else ""
    failed = block.get("is_error")
    return row.event(
        ToolResult,
        call_id=text(block.get("tool_use_id")),
        output=output,
        is_error=failed if isinstance(failed, bool) else None,
        images=images,
        recorded=recorded,
    )


def _is_shown(part: Mapping[str, object]) -> bool:
    return part.get("type") == "image" or "text" in part
