"""Response items of a rollout: what went to the model and what came from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from msgspec.structs import replace

from kbsite.harnesses.codex import calls
from kbsite.harnesses.codex.content import Block, blocks, images, joined, texts
from kbsite.harnesses.codex.outputs import output
from kbsite.harnesses.codex.records import Record, from_event
from kbsite.harnesses.codex.thread import Row, Thread, first_line
from kbsite.harnesses.lines import dump, mapping, sequence, text
from kbsite.harnesses.tools import arguments
from kbsite.model.event import Event, Message, Role, Thought, ToolResult, Topic

ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "developer": Role.SYSTEM,
    "system": Role.SYSTEM,
}
_PLAN = re.compile(r"<proposed_plan>(.*?)</proposed_plan>", re.DOTALL)


def events(thread: Thread, kind: str, row: Row) -> list[Event]:
    """The events of one response item."""
    handle = _HANDLERS.get(kind)
    return handle(thread, row) if handle else [row.unknown]


def _message(thread: Thread, row: Row) -> list[Event]:
    role = ROLES.get(text(row.value.get("role")))
    if role is None:
        return [row.unknown]
    held = blocks(row.value.get("content"), row.value)
    known = [block for block in held if block.known]
    told = [block.text for block in known]
    plans = [plan for body in told for plan in _PLAN.findall(body)]
    thread.echoes.original(role.value, [joined(told), "".join(told), *told, *plans])
    thread.hears(role, joined(told))
    shown: list[Event] = [
        Message(
            role=role,
            text=joined(block.text for block in part if block.text),
            images=images(part),
            injected=injected or role is Role.SYSTEM,
            **row.place,
        )
        for injected, part in _parts(known)
    ]
    return [*shown, *row.strange(held)] or [Message(role=role, text="", **row.place)]


def _parts(held: list[Block]) -> list[tuple[bool, list[Block]]]:
    """The blocks, apart where some are the CLI's and some the user's."""
    return [(key, list(part)) for key, part in groupby(held, key=lambda block: block.injected)]


def _reasoning(thread: Thread, row: Row) -> list[Event]:
    parts = [*texts(row.value.get("summary")), *texts(row.value.get("content"))]
    thread.echoes.original("thought", ["\n\n".join(parts), "".join(parts), *parts])
    body = "\n\n".join(parts)
    encrypted = bool(row.value.get("encrypted_content")) and not body
    held = [*blocks(row.value.get("summary")), *blocks(row.value.get("content"))]
    return [Thought(text=body, encrypted=encrypted, **row.place), *row.strange(held)]


def _function_call(thread: Thread, row: Row) -> list[Event]:
    name, space = text(row.value.get("name")), text(row.value.get("namespace"))
    tool = f"{space}.{name}" if space.startswith("mcp__") else name
    return _called(thread, row, tool, row.value.get("arguments"))


def _custom_call(thread: Thread, row: Row) -> list[Event]:
    return _called(thread, row, text(row.value.get("name")), row.value.get("input"))


def _shell_call(thread: Thread, row: Row) -> list[Event]:
    return _called(thread, row, "local_shell", row.value.get("action"))


def _tool_search(thread: Thread, row: Row) -> list[Event]:
    return _called(thread, row, "tool_search", row.value.get("arguments"))


def _called(thread: Thread, row: Row, tool: str, given: object) -> list[Event]:
    call_id = text(row.value.get("call_id")) or text(row.value.get("id"))
    call = calls.call(tool, given, call_id=call_id, **row.place)
    call = thread.running.called(call)
    thread.opened(call_id, tool, call.at)
    if tool == "exec":
        thread.told(call_id, call)
    return [call]


def _answer(thread: Thread, row: Row) -> list[Event]:
    told = output(row.value.get("output"))
    if "call_id" not in row.value and "name" in row.value:
        # Codex itself tells the model something, in the shape of a result that nobody asked for.
        body = Message(
            role=Role.SYSTEM, text=told.text, images=told.images, injected=True, **row.place
        )
        return [body, *row.strange(told.unknown)]
    result = ToolResult(
        call_id=text(row.value.get("call_id")),
        output=told.text,
        is_error=told.is_error,
        exit_code=told.exit_code,
        seconds=told.seconds,
        images=told.images,
        **row.place,
    )
    ended = thread.running.answered(result)
    result = replace(result, end_of=ended.call_id) if ended else result
    result, tool = thread.answered(result)
    starts = _spawned(thread, row, result) if tool == "spawn_agent" else []
    return [result, *([ended] if ended else []), *starts, *row.strange(told.unknown)]


def _spawned(thread: Thread, row: Row, result: ToolResult) -> list[Event]:
    held = arguments(result.output)
    if isinstance(held, str):
        return []
    child = text(held.get("agent_id")) or text(held.get("thread_id"))
    title = first_line(held.get("nickname")) or first_line(held.get("task_name"))
    return thread.spawned(result.call_id, (child,), title, row)


def _tools_found(thread: Thread, row: Row) -> list[Event]:
    found = sequence(row.value.get("tools"))
    result = ToolResult(
        call_id=text(row.value.get("call_id")), output=dump(found) if found else "", **row.place
    )
    return [thread.answered(result)[0]]


def search_key(action: object) -> str:
    """What a search has in common in the two rows that tell of it: its action, if any."""
    held = mapping(action)
    return dump(dict(sorted(held.items()))) if held else dump({"type": "other"})


def _web_search(thread: Thread, row: Row) -> list[Event]:
    key = search_key(row.value.get("action"))
    if thread.echoes.repeated("event", "search", key, thread.cell, row.trace):
        return [row.trace]
    call_id = text(row.value.get("id")) or f"web_search-{row.place['source'].line}"
    record = from_event("web_search_end", {**row.value, "call_id": call_id})
    return thread.recorded(record, row) if record else [row.unknown]


def _picture(thread: Thread, row: Row) -> list[Event]:
    record: Record | None = from_event(
        "image_generation_end", {**row.value, "call_id": row.value.get("id")}
    )
    return thread.recorded(record, row) if record else [row.unknown]


def _agent_message(thread: Thread, row: Row) -> list[Event]:
    held = blocks(row.value.get("content"))
    body = joined(block.text for block in held if block.known)
    thread.echoes.original(Role.USER.value, [body])
    sealed = [block for block in held if block.type == "encrypted_content"]
    others = [block for block in held if block.type != "encrypted_content"]
    author = first_line(row.value.get("author")) or "another agent"
    shown: list[Event] = []
    if sealed:
        shown.append(row.notice(Topic.NOTE, f"A message from {author}, encrypted."))
    if body or not sealed:
        shown.append(
            Message(role=Role.USER, text=body, images=images(held), injected=True, **row.place)
        )
    return [*shown, *row.strange(others)]


def _compaction(thread: Thread, row: Row) -> list[Event]:
    thread.compactions += 1
    return [row.notice(Topic.COMPACTION, "The context was compacted.")]


def _trace(_thread: Thread, row: Row) -> list[Event]:
    return [replace(row.trace)]


_HANDLERS: dict[str, Callable[[Thread, Row], list[Event]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "function_call_output": _answer,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _answer,
    "local_shell_call": _shell_call,
    "local_shell_call_output": _answer,
    "tool_search_call": _tool_search,
    "tool_search_output": _tools_found,
    "web_search_call": _web_search,
    "image_generation_call": _picture,
    "agent_message": _agent_message,
    "compaction": _compaction,
    "compaction_summary": _compaction,
    "context_compaction": _compaction,
    "compaction_trigger": _trace,
    "ghost_snapshot": _trace,
    "additional_tools": _trace,
}
KNOWN = frozenset(_HANDLERS)
"""Types of response items."""
