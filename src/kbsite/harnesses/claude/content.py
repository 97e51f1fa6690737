"""Messages of Claude Code, block by block: the same in its session log and on its stdout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kbsite.harnesses.claude.results import result
from kbsite.harnesses.claude.tokens import of_message
from kbsite.harnesses.claude.vocabulary import (
    CALL_BLOCKS,
    INJECTED_TEXT,
    INTERRUPTED,
    KINDS,
    RESULT_BLOCKS,
    SYNTHETIC,
)
from kbsite.harnesses.claude.wording import wording
from kbsite.harnesses.lines import dump, mapping, text
from kbsite.harnesses.pictures import picture_in
from kbsite.harnesses.rows import Row
from kbsite.model.event import (
    Edit,
    Event,
    Finish,
    Message,
    Notice,
    Role,
    Thought,
    ToolCall,
    ToolResult,
    Topic,
    Trace,
)

Block = Mapping[str, object]

_OWN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic")
"""Flags of a user row that the CLI wrote itself."""

_NOTIFIED = "<task-notification>"
_HEAD = 20_000
"""Characters of a notification in which its call and its end are looked for."""
_CALL = re.compile(r"<tool-use-id>([^<\s]{1,200})</tool-use-id>")
_ENDED = re.compile(r'<summary>Background command ".*exit code (\d{1,3})\)?</summary>')

_FAILED = ("isApiErrorMessage", "is_api_error_message", "error")
"""Flags of an assistant row that stands for an error."""


def blocks(content: object) -> list[Block]:
    """The blocks of a message's content, which may also be bare text."""
    items = content if isinstance(content, list) else [content]
    return [_block(item) for item in items if item is not None and item != ""]


def _block(item: object) -> Block:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    return item if isinstance(item, dict) else {"type": type(item).__name__, "value": item}


def assistant(row: Row) -> Iterator[Event]:
    """What the model wrote, with its tokens; or what the CLI wrote in the model's place."""
    message = mapping(row.value.get("message"))
    own = message.get("model") == SYNTHETIC
    for block in blocks(message.get("content")):
        if own and block.get("type") == "text":
            yield _in_the_models_place(row, text(block.get("text")))
        else:
            yield from _assistant_block(row, block, text(message.get("model")))
    yield from of_message(row)


def _in_the_models_place(row: Row, told: str) -> Notice | Message:
    failed = any(row.value.get(flag) for flag in _FAILED) or told.startswith("API Error")
    return row.notice(Topic.ERROR, told) if failed else row.injected(told)


def gave_up(row: Row) -> Iterator[Finish]:
    """The end of a turn, where the CLI put an error of the provider's in the model's place."""
    if row.value.get("isApiErrorMessage") is True and not row.agent:
        yield row.event(Finish, ok=False, reason=row.text("error") or "api_error")


def was_stopped(row: Row, event: Event) -> Iterator[Finish]:
    """The end of a turn, where an event of the row says that somebody interrupted it."""
    if isinstance(event, Notice) and event.topic is Topic.INTERRUPTION:
        yield row.event(Finish, ok=False, reason="interrupted")


def _assistant_block(row: Row, block: Block, model: str) -> Iterator[Event]:
    kind = text(block.get("type"))
    match kind:
        case "text":
            yield row.event(Message, role=Role.ASSISTANT, text=text(block.get("text")), model=model)
        case "thinking":
            thought = text(block.get("thinking"))
            sealed = not thought and bool(block.get("signature"))
            yield row.event(Thought, text=thought, encrypted=sealed)
        case "redacted_thinking":
            yield row.event(Thought, text="", encrypted=True)
        case "image":
            yield row.event(
                Message, role=Role.ASSISTANT, text="", images=(picture_in(block),), model=model
            )
        case "fallback":
            told = f"Model: {_model(block, 'from')} → {_model(block, 'to')}"
            yield row.notice(Topic.NOTE, told, of_model=True)
        case _ if kind in CALL_BLOCKS:
            yield call(row, block)
        case _ if kind in RESULT_BLOCKS:
            yield from result(row, block, None)
        case _:
            yield row.unknown(f"assistant/{kind}", block)


def _model(block: Block, key: str) -> str:
    held = block.get(key)
    return text(mapping(held).get("model", held))


def call(row: Row, block: Block) -> ToolCall:
    """The call in a content block."""
    made = row.call(KINDS, text(block.get("name")), block.get("input"), text(block.get("id")))
    if not any(map(_deletes, made.edits)):
        return made
    # A text for which nothing is put goes with the end of its line.
    edits = (replace(edit, closed=True) if _deletes(edit) else edit for edit in made.edits)
    return replace(made, edits=tuple(edits))


def _deletes(edit: Edit) -> bool:
    return bool(edit.old) and not edit.new


def user(row: Row, rich: object) -> Iterator[Event]:
    """What a user row brings the model; `rich` is the CLI's own copy of its tool result."""
    yield from brought(row, mapping(row.value.get("message")).get("content"), rich)


def brought(
    row: Row, content: object, rich: object = None, *, own: bool = False
) -> Iterator[Event]:
    """Text, pictures and tool results on their way to the model; `own`: the CLI put them there."""
    own = own or any(row.value.get(flag) for flag in _OWN)
    origin = mapping(row.value.get("origin")).get("kind", "human")
    own = own or origin != "human"
    for block in blocks(content):
        kind = text(block.get("type"))
        match kind:
            case "text":
                told = text(block.get("text"))
                yield _said(row, told, own=own)
                yield from ended(row, told)
            case "image":
                yield row.event(
                    Message, role=Role.USER, text="", images=(picture_in(block),), injected=own
                )
            case "document":
                yield _document(row, block, own=own)
            case _ if kind in RESULT_BLOCKS:
                yield from result(row, block, rich)
                rich = None  # the row has one copy, which is its first result's
            case _:
                yield row.unknown(f"user/{kind}", block)
    if rich:
        # The CLI's copy of a result that does not stand in the row.
        yield row.unknown("tool result", rich)


def _said(row: Row, told: str, *, own: bool) -> Notice | Message:
    if told.startswith(INTERRUPTED):
        return row.notice(Topic.INTERRUPTION, told)
    injected = own or told.lstrip().startswith(INJECTED_TEXT)
    return row.event(Message, role=Role.USER, text=told, injected=injected)


def ended(row: Row, told: str) -> Iterator[ToolResult]:
    """How a command that ran in the background ended, as the CLI tells the model later."""
    if not told.startswith(_NOTIFIED):
        return
    call, code = _CALL.search(told[:_HEAD]), _ENDED.search(told[:_HEAD])
    if call and code:
        yield row.event(ToolResult, call_id=call[1], output="", exit_code=int(code[1]), late=True)


def _document(row: Row, block: Block, *, own: bool) -> Message | Trace:
    held = mapping(block.get("source"))
    if held.get("type") == "base64":
        return row.event(Trace, type="user/document", raw=dump(block))
    told = wording([block.get("title"), held.get("data"), held.get("content"), held.get("url")])
    return row.event(Message, role=Role.USER, text=told, injected=own)
