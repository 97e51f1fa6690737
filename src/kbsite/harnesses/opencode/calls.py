"""Tool parts: a call and, once the tool has ended, its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kbsite.harnesses import tools
from kbsite.harnesses.lines import dump, integer, mapping, number, sequence, text, timestamp
from kbsite.harnesses.opencode.row import Row
from kbsite.harnesses.pictures import picture_at
from kbsite.harnesses.rows import STILL_RUNS
from kbsite.model.event import (
    AgentStart,
    Event,
    Image,
    ToolKind,
    ToolResult,
    Topic,
    Unknown,
)

KINDS = {
    "apply_patch": ToolKind.EDIT,
    "bash": ToolKind.RUN,
    "codesearch": ToolKind.WEB,
    "edit": ToolKind.EDIT,
    "glob": ToolKind.SEARCH,
    "grep": ToolKind.SEARCH,
    "list": ToolKind.READ,
    "ls": ToolKind.READ,
    "multiedit": ToolKind.EDIT,
    "patch": ToolKind.EDIT,
    "plan_enter": ToolKind.PLAN,
    "plan_exit": ToolKind.PLAN,
    "read": ToolKind.READ,
    "shell": ToolKind.RUN,
    "skill": ToolKind.READ,
    "task": ToolKind.AGENT,
    "todoread": ToolKind.PLAN,
    "todowrite": ToolKind.PLAN,
    "webfetch": ToolKind.WEB,
    "websearch": ToolKind.WEB,
    "write": ToolKind.WRITE,
}
REFUSED = "invalid"
"""The tool that opencode puts in the place of one that does not exist, and lets complete."""
_TOLD = frozenset({
    "count", "description", "exit", "exitCode", "filepath", "matches", "outputPath",
    "parentSessionId", "preview", "sessionId", "title", "todos", "truncated",
})  # fmt: skip
"""Metadata that the call, its output or another field of the result tells as well."""
_SAVED_TO = re.compile(r"^Full output saved to: (.+)$", re.MULTILINE)


def call_events(part: Mapping[str, object], row: Row) -> Iterator[Event]:
    """The call, the sub-agent that it started, and its result if it has one."""
    state = mapping(part.get("state"))
    started = timestamp(mapping(state.get("time")).get("start")) or row.at
    given = state.get("input")
    yield tools.call(
        KINDS,
        text(part.get("tool")),
        state.get("raw") if not given and state.get("raw") else given,
        source=row.source(),
        at=started,
        agent=row.agent,
        call_id=text(part.get("callID")),
    )
    child = text(mapping(state.get("metadata")).get("sessionId"))
    if child:
        yield AgentStart(
            source=row.source(),
            at=started,
            agent=row.agent,
            child=child,
            call_id=text(part.get("callID")),
            title=text(mapping(given).get("description")) or text(state.get("title")),
        )
    yield from _outcome(part, state, row)


def _outcome(part: Mapping[str, object], state: Mapping[str, object], row: Row) -> Iterator[Event]:
    match text(state.get("status")):
        case "completed" | "error":
            yield _result(part, state, row)
        case "pending":
            return
        case "running":
            so_far = text(mapping(state.get("metadata")).get("output"))
            if so_far:
                yield row.notice(Topic.INTERRUPTION, f"{STILL_RUNS}{so_far}", dump(part))
        case other:
            yield Unknown(
                source=row.source(), at=row.at, agent=row.agent, type=f"tool:{other}",
                raw=dump(part),
            )  # fmt: skip


def _result(part: Mapping[str, object], state: Mapping[str, object], row: Row) -> ToolResult:
    metadata = mapping(state.get("metadata"))
    time = mapping(state.get("time"))
    start, end = number(time.get("start")), number(time.get("end"))
    failed = state.get("status") == "error" or part.get("tool") == REFUSED
    output = text(state.get("error")) or text(state.get("output"))
    files = [mapping(item) for item in sequence(state.get("attachments"))]
    return ToolResult(
        source=row.source(),
        at=timestamp(end) or row.at,
        agent=row.agent,
        call_id=text(part.get("callID")),
        output=output,
        is_error=failed,
        exit_code=integer(metadata.get("exit", metadata.get("exitCode"))),
        seconds=None if start is None or end is None or end < start else (end - start) / 1000,
        images=tuple(found for file in files if (found := image(file))),
        recorded=_recorded(state, metadata, output, files),
        side_files=_side_files(metadata, output),
    )


def _recorded(
    state: Mapping[str, object],
    metadata: Mapping[str, object],
    output: str,
    files: list[Mapping[str, object]],
) -> Mapping[str, object] | str:
    """What the metadata tells beyond the output: diffs, diagnostics, a longer copy of it."""
    more = {key: value for key, value in metadata.items() if key not in _TOLD and value}
    if more.get("output") == output:
        del more["output"]
    others = [file for file in files if not image(file)]
    if others:
        more["attachments"] = others
    if state.get("error") and state.get("output"):
        more["output"] = state["output"]
    return more or ""


def _side_files(metadata: Mapping[str, object], output: str) -> tuple[str, ...]:
    named = text(metadata.get("outputPath"))
    if not named and metadata.get("truncated") is True and (match := _SAVED_TO.search(output)):
        named = match[1].strip()
    return (named,) if named else ()


def image(file: Mapping[str, object]) -> Image | None:
    """A file part as a picture; None if it is none."""
    found = picture_at(text(file.get("url")))
    media_type = text(file.get("mime")) or found.media_type
    return replace(found, media_type=media_type) if media_type.startswith("image/") else None
