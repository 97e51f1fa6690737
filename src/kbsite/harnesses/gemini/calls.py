"""Gemini CLI's tools: calls, and the results that its session log keeps of them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kbsite.harnesses.google_parts import (
    ENDED,
    TRAILER,
    Answer,
    answer,
    parts,
    picture,
    plain,
    told_exit_code,
)
from kbsite.harnesses.lines import count, dump, mapping, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import AgentStart, Event, Image, ToolCall, ToolKind, ToolResult

KINDS = {
    "activate_skill": ToolKind.READ,
    "cli_help": ToolKind.AGENT,
    "codebase_investigator": ToolKind.AGENT,
    "delegate_to_agent": ToolKind.AGENT,
    "edit": ToolKind.EDIT,
    "enter_plan_mode": ToolKind.PLAN,
    "exit_plan_mode": ToolKind.PLAN,
    "generalist": ToolKind.AGENT,
    "glob": ToolKind.SEARCH,
    "google_web_search": ToolKind.WEB,
    "grep_search": ToolKind.SEARCH,
    "invoke_agent": ToolKind.AGENT,
    "list_directory": ToolKind.READ,
    "read_file": ToolKind.READ,
    "read_many_files": ToolKind.READ,
    "replace": ToolKind.EDIT,
    "run_shell_command": ToolKind.RUN,
    "search_file_content": ToolKind.SEARCH,
    "tracker_create_task": ToolKind.PLAN,
    "tracker_update_task": ToolKind.PLAN,
    "update_topic": ToolKind.PLAN,
    "web_fetch": ToolKind.WEB,
    "write_file": ToolKind.WRITE,
    "write_todos": ToolKind.PLAN,
}
"""What the CLI's tools do, over all versions; every other tool is `ToolKind.OTHER`."""

_SAVED = re.compile(r"For full output see: ([^\n]+)")
_SHELL = "run_shell_command"
_TAIL = 200


def call(row: Row, tool: str, given: object, call_id: str) -> ToolCall:
    """A call; of `replace` it is told whether it changes every occurrence."""
    asked = row.call(KINDS, tool, given, call_id)
    held = mapping(asked.arguments)
    several = (count(held.get("expected_replacements")) or 1) > 1
    if held.get("allow_multiple") is True or several:
        return replace(asked, edits=tuple(replace(edit, every=True) for edit in asked.edits))
    return asked


def description(asked: ToolCall, held: Mapping[str, object]) -> str:
    """What the log tells of a call, without what its arguments tell; empty where that is all.

    Of a tool that is not the CLI's own, and in older versions of any, it is what the model is told
    of the tool.
    """
    said, given = text(held.get("description")).strip(), mapping(asked.arguments)
    if asked.tool != _SHELL:
        subject = posixpath.basename(asked.summary.rstrip("/"))
        about = said in given.values() or (subject and subject in said)
        return "" if asked.tool in KINDS and about else said
    for known in (text(given.get("command")), f"({text(given.get('description'))})"):
        said = said.replace(known, "", 1).strip()
    return said


def started(row: Row, held: Mapping[str, object]) -> Iterator[Event]:
    """The start of the sub-agent that a call of the log names."""
    if child := text(held.get("agentId")):
        given = mapping(held.get("args"))
        title = text(given.get("agent_name")) or text(held.get("description"))
        yield row.event(AgentStart, child=child, call_id=text(held.get("id")), title=title)


def ended(held: Mapping[str, object]) -> bool:
    """Whether a call of the log has a result."""
    return text(held.get("status")) in ENDED or bool(held.get("result"))


def result(row: Row, held: Mapping[str, object]) -> ToolResult:
    """The result of a call of the log: what the model was shown, and what a person was."""
    said = list(_said(held.get("result")))
    output = "\n".join(one for one in said if isinstance(one, str))
    shown = held.get("resultDisplay")
    failed = ENDED.get(text(held.get("status")))
    return row.event(
        ToolResult,
        at=timestamp(held.get("timestamp")) or row.at,
        call_id=text(held.get("id")),
        output=output,
        is_error=failed,
        exit_code=_exit_code(output, shown) if held.get("name") == _SHELL else None,
        images=tuple(one for one in said if isinstance(one, Image)),
        recorded=_recorded(shown, output),
        side_files=_side_files(held, output),
    )


def answered(row: Row, told: Answer) -> ToolResult:
    """The result of a call that the log only has among the messages to the model."""
    return row.event(
        ToolResult,
        call_id=told.call_id,
        output=told.output,
        is_error=told.failed,
        exit_code=_exit_code(told.output, None) if told.tool == _SHELL else None,
        images=told.images,
        side_files=_side_files({}, told.output),
    )


def _said(content: object) -> Iterator[str | Image]:
    """What the model was shown, part by part."""
    for part in parts(content):
        one = plain(part)
        if one is not None:
            yield one
        elif mapping(mapping(part).get("functionResponse")):
            told = answer(mapping(part))
            yield told.output
            yield from told.images
        else:
            yield picture(mapping(part)) or dump(part)


def _exit_code(output: str, shown: object) -> int | None:
    """What the CLI wrote below the command's own output, which may say the same of itself."""
    trailer = output[-TRAILER:]
    if isinstance(shown, str) and (own := shown.strip()):
        _, found, after = output.rpartition(own[-_TAIL:])
        trailer = after if found else trailer
    return told_exit_code(trailer)


def _recorded(shown: object, output: str) -> Mapping[str, object] | str:
    if isinstance(shown, dict):
        return shown
    told = text(shown)
    return "" if told.strip() in output else told


def _side_files(held: Mapping[str, object], output: str) -> tuple[str, ...]:
    named = [text(held.get("outputFile"))]
    if output.startswith("Output too large."):
        named += [path.strip() for path in _SAVED.findall(output[:4000])[:1]]
    return tuple(dict.fromkeys(filter(None, named)))
