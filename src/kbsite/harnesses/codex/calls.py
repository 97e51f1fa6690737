"""Codex's tools, of all versions: what each one does, and what a call of it is about."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kbsite.harnesses import tools
from kbsite.harnesses.codex import javascript
from kbsite.harnesses.lines import mapping, sequence, text
from kbsite.model.event import Edit, ToolCall, ToolKind

BY_HAND = "user_shell"
"""What Codex names as the source, and here the tool, of a command that a person ran."""

KINDS: dict[str, ToolKind] = {
    BY_HAND: ToolKind.RUN,
    "shell": ToolKind.RUN,
    "container.exec": ToolKind.RUN,
    "local_shell": ToolKind.RUN,
    "shell_command": ToolKind.RUN,
    "exec_command": ToolKind.RUN,
    "unified_exec": ToolKind.RUN,
    "write_stdin": ToolKind.RUN,
    "command_execution": ToolKind.RUN,
    "exec": ToolKind.RUN,
    "wait": ToolKind.RUN,
    "apply_patch": ToolKind.EDIT,
    "file_change": ToolKind.EDIT,
    "read_file": ToolKind.READ,
    "view_image": ToolKind.READ,
    "list_dir": ToolKind.SEARCH,
    "grep_files": ToolKind.SEARCH,
    "web_search": ToolKind.WEB,
    "web__run": ToolKind.WEB,
    "update_plan": ToolKind.PLAN,
    "todo_list": ToolKind.PLAN,
    "get_goal": ToolKind.PLAN,
    "create_goal": ToolKind.PLAN,
    "update_goal": ToolKind.PLAN,
    "spawn_agent": ToolKind.AGENT,
    "wait_agent": ToolKind.AGENT,
    "send_input": ToolKind.AGENT,
    "send_message": ToolKind.AGENT,
    "followup_task": ToolKind.AGENT,
    "resume_agent": ToolKind.AGENT,
    "close_agent": ToolKind.AGENT,
    "interrupt_agent": ToolKind.AGENT,
    "list_agents": ToolKind.AGENT,
}
_SUBJECTS = ("message", "task_name", "question")
_WRAPPED = re.compile(r"(?:/\S+/)?(?:ba|z)?sh -l?c ")
_LONGEST = 20_000
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_BEGIN, _END = "*** Begin Patch", "*** End Patch"


def call(tool: str, given: object, **event: Any) -> ToolCall:
    """The call of a tool; `event` holds the rest of it: source, call_id, at, agent."""
    plain = tools.call(KINDS, tool, given, **event)
    if tool == "exec" and isinstance(plain.arguments, str):
        return _scripted(plain, plain.arguments)
    about = summary(tool, plain.arguments)
    patch = shell_patch(plain.arguments) if plain.tool_kind is ToolKind.RUN else ""
    if not patch:
        return replace(plain, summary=about)
    edits = tools.patch_edits(patch)
    return replace(plain, summary=_paths(edits) or about, edits=edits, tool_kind=ToolKind.EDIT)


def _scripted(plain: ToolCall, script: str) -> ToolCall:
    nested = [_nested(name, given) for name, given in javascript.calls(script)]
    if not nested:
        return plain
    kinds = {kind for kind, _, _ in nested}
    edits = tuple(edit for _, _, own in nested for edit in own)
    about = next((line for _, line, _ in nested if line), plain.summary)
    more = f" (+{len(nested) - 1} more)" if len(nested) > 1 else ""
    return replace(plain, summary=about + more, edits=edits, tool_kind=_joint(kinds, edits))


def _joint(kinds: set[ToolKind], edits: tuple[Edit, ...]) -> ToolKind:
    """The kind of a script, by the kinds of what it calls and the changes that it spells out."""
    if edits:
        return ToolKind.EDIT
    # Where a script computes its patch, the record of that is the edit.
    return ToolKind.RUN if len(kinds) > 1 or ToolKind.EDIT in kinds else kinds.pop()


def _nested(tool: str, given: Mapping[str, object] | str) -> tuple[ToolKind, str, tuple[Edit, ...]]:
    kind = KINDS.get(tool, ToolKind.OTHER)
    patch = shell_patch(given) if kind is ToolKind.RUN else ""
    edits = tools.patch_edits(patch) if patch else tools.edits(kind, given)
    return kind, _paths(edits) or summary(tool, given) or tool, edits


def shell_patch(given: Mapping[str, object] | str) -> str:
    """The patch that a shell command hands to apply_patch, which Codex carries out itself."""
    command = _command(given)
    start, end = command.find(_BEGIN), command.rfind(_END)
    if start < 0 or end < start or "apply_patch" not in command[:start]:
        return ""
    return command[start : end + len(_END)]


def _command(given: Mapping[str, object] | str) -> str:
    if isinstance(given, str):
        return ""
    held = given.get("command", given.get("cmd"))
    if isinstance(held, list):
        return "\n".join(text(word) for word in held)
    return text(held)


def summary(tool: str, given: Mapping[str, object] | str) -> str:
    """One line that says what a call is about."""
    if isinstance(given, str):
        return _paths(tools.patch_edits(given)) or tools.summary(given)
    words = sequence(given.get("command"))
    if len(words) == 3 and words[0] in _SHELLS:
        return _first_line(text(words[2]))
    return _own(tool, given) if tool in _OWN else _general(given)


_OWN = {"write_stdin", "wait", "update_plan", "todo_list", "web__run"}
"""Tools whose summary is made of more than one key that names its subject."""


def _own(tool: str, given: Mapping[str, object]) -> str:
    match tool:
        case "write_stdin":
            return about_running(tool, given)
        case "wait":
            return about_running(tool, given) if "cell_id" in given else ""
        case "update_plan":
            return _step(sequence(given.get("plan"))) or _first_line(text(given.get("explanation")))
        case "todo_list":
            return _todo(sequence(given.get("items")))
        case _:
            return _first_line(text(given))


def about_running(tool: str, given: Mapping[str, object], command: str = "") -> str:
    """What is written to a command that runs, or waited for, and its words where they are known."""
    named = f" ({command})" if command else ""
    if tool == "wait":
        return f"cell {text(given.get('cell_id'))}{named}"
    return f"session {text(given.get('session_id'))}{named}: {text(given.get('chars'))!r}"


def _general(given: Mapping[str, object]) -> str:
    about = _unwrapped(tools.summary(given), given.get("command"))
    return about or next((_first_line(text(given[key])) for key in _SUBJECTS if given.get(key)), "")


def _unwrapped(about: str, command: object) -> str:
    """The command itself, where Codex shows the shell that ran it around it."""
    if not isinstance(command, str) or not _WRAPPED.match(about) or len(command) > _LONGEST:
        return about
    try:
        return _first_line(shlex.split(command)[-1])
    except (ValueError, IndexError):
        return about


def _step(plan: list[object]) -> str:
    steps = [mapping(step) for step in plan]
    current = [step for step in steps if step.get("status") == "in_progress"] or steps[-1:]
    return _first_line(text(current[0].get("step"))) if current else ""


def _todo(items: list[object]) -> str:
    done = sum(mapping(item).get("completed") is True for item in items)
    return f"{done} of {len(items)} done"


def _paths(edits: tuple[Edit, ...]) -> str:
    return ", ".join(edit.path for edit in edits)


def _first_line(value: str) -> str:
    return value.strip().split("\n", 1)[0].strip()
