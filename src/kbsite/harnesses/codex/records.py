"""Codex's own records of tool calls: what it ran, the full output, exit code and time.

They stand beside the output that the model saw, by the id of the call; in code mode they are the
only rows of what a script called, with ids of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.codex import calls
from kbsite.harnesses.codex.content import blocks, image, images, joined
from kbsite.harnesses.codex.outputs import failed
from kbsite.harnesses.lines import dump, integer, mapping, number, sequence, text
from kbsite.model.event import Edit, Image, ToolCall, ToolResult

_FAILED = frozenset({"failed", "declined", "error"})
_LONGEST = 1e15
_LATE = 0.5
"""Seconds from a call to the begin of its time by Codex that are no wait for another call."""
_WAITED_FOR = {"wait": "wait_agent"}


class Record(Struct, frozen=True, kw_only=True):
    """One record, whichever row it comes from."""

    call_id: str
    tool: str
    arguments: Mapping[str, object]
    output: str = ""
    exit_code: int | None = None
    seconds: float | None = None
    is_error: bool | None = None
    images: tuple[Image, ...] = ()
    edits: tuple[Edit, ...] = ()
    kept: Mapping[str, object] = field(default_factory=dict)
    """What may say more than the output that the model saw."""
    children: tuple[str, ...] = ()
    """The sub-agents that it started."""
    title: str = ""

    def call(self, place: Mapping[str, Any]) -> ToolCall:
        """The call, where no other row holds it."""
        plain = calls.call(self.tool, dict(self.arguments), call_id=self.call_id, **place)
        if not self.edits:
            return plain
        paths = ", ".join(edit.path for edit in self.edits)
        return replace(plain, edits=self.edits, summary=paths)

    def result(self, place: Mapping[str, Any]) -> ToolResult:
        """The result, where no other row holds it."""
        return self.merged(ToolResult(call_id=self.call_id, output=self.output, **place))

    def late(self, place: Mapping[str, Any]) -> ToolResult:
        """What it says beyond a result that is long past."""
        return self.merged(ToolResult(call_id=self.call_id, output="", late=True, **place))

    def merged(self, result: ToolResult) -> ToolResult:
        """A result that the model saw, with what the record says beyond it."""
        return replace(
            result,
            exit_code=self.exit_code if result.exit_code is None else result.exit_code,
            seconds=result.seconds if self.seconds is None else self.seconds,
            is_error=self.is_error if result.is_error is None else result.is_error,
            images=result.images or self.images,
            recorded=self._more(result.output),
        )

    def timed_from(self, begun: datetime | None, clock: float | None) -> Record:
        """The record of a command, timed from its call on; `clock` is when Codex began to time it.

        Codex 0.169 and later begin up to 0.2 s after the command did: most took no time at all.
        """
        if self.tool != "exec_command" or None in (self.seconds, begun, clock):
            return self
        late = round((clock or 0.0) - (begun.timestamp() if begun else 0.0), 3)
        return replace(self, seconds=(self.seconds or 0.0) + late) if 0 < late < _LATE else self

    def is_asked_in(self, script: str) -> bool:
        """Whether it tells of a search in the web that stands in a script, word for word."""
        if self.tool != "web_search" or self.arguments.get("results"):
            return False
        action = mapping(self.arguments.get("action"))
        asked = [value for key, value in action.items() if key != "type"]
        told = [one for value in asked for one in (value if isinstance(value, list) else [value])]
        # Of several queries the first stands for all.
        query = text(self.arguments.get("query")).removesuffix(" ...")
        return bool(told) and all(isinstance(one, str) and one in script for one in [*told, query])

    def _more(self, output: str) -> Mapping[str, object] | str:
        more = {key: value for key, value in self.kept.items() if not _said(value, output)}
        return more or ""


def _said(value: object, output: str) -> bool:
    if isinstance(value, str):
        return value.strip() in output
    return not value or dump(value) in output


def from_event(kind: str, row: Mapping[str, object]) -> Record | None:
    """The record that an event_msg row is; None if it is none."""
    make = _EVENTS.get(kind)
    return make(text(row.get("call_id")), row) if make else None


def from_item(kind: str, item: Mapping[str, object]) -> Record | None:
    """The record that a completed item is; None if it is none."""
    make = _ITEMS.get(kind)
    return make(text(item.get("id")), item) if make else None


def _command(call_id: str, row: Mapping[str, object]) -> Record:
    outputs = {key: text(row.get(key)) for key in ("aggregated_output", "stdout", "stderr")}
    whole = outputs["aggregated_output"]
    exit_code = integer(row.get("exit_code"))
    by_hand = row.get("source") == calls.BY_HAND
    return Record(
        call_id=call_id,
        tool=calls.BY_HAND if by_hand else "exec_command",
        arguments=_given(row, "command", "cwd", "interaction_input"),
        output=whole or joined(filter(None, [outputs["stdout"], outputs["stderr"]])),
        exit_code=exit_code,
        seconds=duration(row.get("duration")),
        is_error=_is_error(row, failed(exit_code)),
        kept={
            key: value
            for key, value in outputs.items()
            if value and (key == "aggregated_output" or value not in whole)
        },
    )


def _patch(call_id: str, row: Mapping[str, object]) -> Record:
    changes = mapping(row.get("changes"))
    success = row.get("success")
    return Record(
        call_id=call_id,
        tool="apply_patch",
        arguments={"changes": changes},
        output=joined(filter(None, [text(row.get("stdout")), text(row.get("stderr"))])),
        is_error=_is_error(row, not success if isinstance(success, bool) else None),
        edits=tuple(_edit(path, mapping(change)) for path, change in changes.items()),
        kept={key: row[key] for key in ("changes", "stdout", "stderr") if row.get(key)},
    )


def _edit(path: str, change: Mapping[str, object]) -> Edit:
    match change.get("type"):
        case "add":
            return Edit(path, None, text(change.get("content")), action="add")
        case "delete":
            return Edit(path, None, "", action="delete")
        case _:
            pass
    moved = text(change.get("move_path"))
    patch = (f"*** Move to: {moved}\n" if moved else "") + text(change.get("unified_diff"))
    return Edit(path, None, "", patch=patch, action="move" if moved else "update")


def _mcp(call_id: str, row: Mapping[str, object]) -> Record:
    asked = mapping(row.get("invocation")) or row
    told = mapping(row.get("result"))
    result = mapping(told.get("Ok")) or told
    error = text(told.get("Err")) or text(mapping(row.get("error")).get("message"))
    held = blocks(result.get("content"))
    is_error = result.get("isError", result.get("is_error"))
    structured = result.get("structuredContent", result.get("structured_content"))
    body = joined(block.text for block in held)
    return Record(
        call_id=call_id,
        tool=f"{text(asked.get('server'))}.{text(asked.get('tool'))}",
        arguments=mapping(asked.get("arguments")),
        output=error or body,
        seconds=duration(row.get("duration")),
        is_error=True if error else is_error if isinstance(is_error, bool) else _is_error(row),
        images=images(held),
        kept={"content": error or body, "structured_content": structured},
    )


def _search(call_id: str, row: Mapping[str, object]) -> Record:
    return Record(
        call_id=call_id, tool="web_search", arguments=_given(row, "query", "action", "results")
    )


def _view(call_id: str, row: Mapping[str, object]) -> Record:
    return Record(call_id=call_id, tool="view_image", arguments=_given(row, "path"))


def _picture(call_id: str, row: Mapping[str, object]) -> Record:
    data = text(row.get("result"))
    shown = image(data) if data.startswith("data:") else Image("image/png", data)
    return Record(
        call_id=call_id,
        tool="image_generation",
        arguments=_given(row, "revised_prompt"),
        output=text(row.get("saved_path")),
        is_error=_is_error(row),
        images=(shown,) if data else (),
        kept=_given(row, "saved_path"),
    )


def _dynamic(call_id: str, row: Mapping[str, object]) -> Record:
    held = blocks(row.get("content_items"))
    error = text(row.get("error"))
    success = row.get("success")
    body = error or joined(block.text for block in held)
    return Record(
        call_id=call_id,
        tool=text(row.get("tool")),
        arguments=mapping(row.get("arguments")),
        output=body,
        seconds=duration(row.get("duration")),
        is_error=not success if isinstance(success, bool) else _is_error(row),
        images=images(held),
        kept={"content": body},
    )


def _collab(call_id: str, item: Mapping[str, object]) -> Record:
    tool = _snake(text(item.get("tool")))
    named = [mapping(agent) for agent in sequence(item.get("receiver_agents"))]
    nickname = next(
        (text(agent["agent_nickname"]) for agent in named if agent.get("agent_nickname")), ""
    )
    prompt = text(item.get("prompt"))
    receivers = tuple(text(one) for one in sequence(item.get("receiver_thread_ids")))
    states = mapping(item.get("agents_states"))
    return Record(
        call_id=call_id,
        tool=_WAITED_FOR.get(tool, tool),
        arguments=_given(item, "prompt", "receiver_thread_ids", "model", "reasoning_effort"),
        output=dump(states) if states else "",
        is_error=_is_error(item),
        children=receivers if tool == "spawn_agent" else (),
        title=nickname or prompt.strip().split("\n", 1)[0],
    )


def _spawn(call_id: str, row: Mapping[str, object]) -> Record:
    agents = [{"agent_nickname": row.get("new_agent_nickname")}]
    receivers = [row["new_thread_id"]] if row.get("new_thread_id") else []
    held = {"tool": "spawn_agent", "receiver_agents": agents, "receiver_thread_ids": receivers}
    return _collab(call_id, {**row, **held})


def _sleep(call_id: str, item: Mapping[str, object]) -> Record:
    return Record(call_id=call_id, tool="sleep", arguments=_given(item, "duration_ms"))


def _extension(call_id: str, item: Mapping[str, object]) -> Record:
    """A tool of an extension, such as clock.sleep; what it tells beside its name is kept."""
    kind = text(item.get("kind"))
    told = {key: value for key, value in item.items() if key not in ("type", "id", "kind")}
    slept = kind == "clock.sleep"
    return Record(
        call_id=call_id,
        tool=kind.rpartition(".")[2] or "extension",
        arguments=told,
        is_error=_is_error(item),
        kept={} if slept else told,
    )


def _given(row: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: row[key] for key in keys if row.get(key) not in (None, "", [])}


def _is_error(row: Mapping[str, object], *told: bool | None) -> bool | None:
    known = next((one for one in told if one is not None), None)
    if known is not None:
        return known
    return True if text(row.get("status")).lower() in _FAILED else None


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def duration(value: object) -> float | None:
    """Seconds, from a number or from Rust's `{secs, nanos}`."""
    if isinstance(value, dict):
        seconds, nanos = number(value.get("secs")), number(value.get("nanos"))
        parts = [ratio(seconds, 1), ratio(nanos, 1_000_000_000)]
        return None if parts == [None, None] else sum(filter(None, parts), 0.0)
    return ratio(number(value), 1)


def ratio(value: float | None, by: int) -> float | None:
    """A number in a larger unit; None where it is none, or none that a clock could give."""
    if value is None or not 0 <= value < _LONGEST:
        return None
    return value / by


_Make = Callable[[str, Mapping[str, object]], Record]
_EVENTS: dict[str, _Make] = {
    "exec_command_end": _command,
    "patch_apply_end": _patch,
    "mcp_tool_call_end": _mcp,
    "web_search_end": _search,
    "view_image_tool_call": _view,
    "image_generation_end": _picture,
    "dynamic_tool_call_response": _dynamic,
    "collab_agent_spawn_end": _spawn,
}
_ITEMS: dict[str, _Make] = {
    "CommandExecution": _command,
    "FileChange": _patch,
    "McpToolCall": _mcp,
    "WebSearch": _search,
    "ImageView": _view,
    "ImageGeneration": _picture,
    "DynamicToolCall": _dynamic,
    "CollabAgentToolCall": _collab,
    "Sleep": _sleep,
    "Extension": _extension,
}
