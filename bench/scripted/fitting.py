"""From what a call is for to a call of a tool that the CLI offers, by names and schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from bench.scripted.bodies import mapping
from bench.scripted.code_mode import in_code_mode, program
from bench.scripted.conversation import Conversation, Kind, Tool
from bench.scripted.forms import Form, resolved
from bench.scripted.patches import command, patch
from bench.scripted.script import (
    Edit,
    Finish,
    Intent,
    Named,
    Read,
    Shell,
    State,
    Task,
    Todo,
    Wait,
    Write,
)

_OFFERED: Final[Mapping[type, tuple[str, ...]]] = {
    Shell: ("Bash", "bash", "Shell", "exec_command", "shell", "shell_command", "run_shell_command"),
    Write: ("Write", "write", "WriteFile", "write_file", "create_file"),
    Edit: ("Edit", "edit", "StrReplaceFile", "replace", "edit_file", "str_replace"),
    Read: ("Read", "read", "ReadFile", "read_file", "view"),
    Todo: (
        "TodoWrite", "todowrite", "SetTodoList", "TodoList", "todo_write", "write_todos",
        "update_plan",
    ),
    Task: ("Agent", "Task", "task", "agent", "spawn_agent", "invoke_agent", "generalist"),
    Wait: ("wait_agent", "wait"),
    Finish: ("complete_task",),
}  # fmt: skip
"""Names of tools for a purpose, by CLIs of today; the first that is offered is taken."""

_PATHS = ("file_path", "filePath", "path", "absolute_path", "target_file")
_CHILDREN = ("general-purpose", "generalist", "general", "coder", "worker", "default")
"""Kinds of sub-agents that may do anything."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DONE = {"completed": "done"}
"""What some call a state."""


def _listed(name: str) -> re.Pattern[str]:
    """A name in quotes or tags, or at the begin of an item that goes on with what it is."""
    quoted = rf"[`\"]{name}[`\"]|<name>{name}</name>"
    return re.compile(rf"{quoted}|^\s*- \W{{0,2}}{name}\W{{0,2}}(?::|->)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """A tool with its arguments."""

    name: str
    arguments: Mapping[str, Any]
    kind: Kind = Kind.FUNCTION
    namespace: str | None = None


def fit(intent: Intent, conversation: Conversation) -> Invocation | None:
    """The call for an intent; None where the CLI offers nothing for it."""
    if isinstance(intent, Named):
        return _of(Tool(name=intent.tool, schema={}), intent.arguments, conversation)
    if in_code_mode(conversation.tools) and (text := program(intent)):
        return _of(conversation.tools["exec"], {"input": text}, conversation)
    tool = _offered(type(intent), conversation)
    if tool is not None:
        return _of(tool, _arguments(intent, tool, conversation), conversation)
    return _otherwise(intent, conversation)


def _offered(kind: type, conversation: Conversation) -> Tool | None:
    """The tool for a purpose that takes its arguments as JSON."""
    tools = (conversation.tools.get(name) for name in _OFFERED[kind])
    return next((one for one in tools if one and one.kind is Kind.FUNCTION), None)


def _of(tool: Tool, arguments: Mapping[str, Any], conversation: Conversation) -> Invocation:
    held = conversation.tools.get(tool.name, tool)
    return Invocation(name=tool.name, arguments=arguments, kind=held.kind, namespace=held.namespace)


def _otherwise(intent: Intent, conversation: Conversation) -> Invocation | None:
    """The same by other means: a patch, the shell, or first a search for a tool."""
    match intent:
        case Write() | Edit():
            if patching := conversation.tools.get("apply_patch"):
                return _of(patching, _patching(patching, patch(intent)), conversation)
            return _by_shell(command(intent), conversation)
        case Read():
            return _by_shell(f"cat {intent.path}", conversation)
        case Task():
            search = next((t for t in conversation.tools.values() if t.kind is Kind.SEARCH), None)
            query = {"query": "spawn_agent wait_agent sub-agent", "limit": 8}
            return _of(search, query, conversation) if search else None
        case _:
            return None


def _patching(tool: Tool, text: str) -> Mapping[str, Any]:
    if tool.kind is Kind.FREEFORM:
        return {"input": text}
    form = Form(tool)
    form.put(text, "input", "patch", "patchText")
    return form.filled()


def _by_shell(text: str, conversation: Conversation) -> Invocation | None:
    shell = Shell(command=text)
    tool = _offered(Shell, conversation)
    return _of(tool, _arguments(shell, tool, conversation), conversation) if tool else None


def _arguments(intent: Intent, tool: Tool, conversation: Conversation) -> Mapping[str, Any]:
    form = Form(tool)
    match intent:
        case Shell():
            _shell(form, intent)
        case Write():
            form.put(_absolute(intent.path, conversation), *_PATHS)
            form.put(intent.content, "content", "file_text", "contents")
        case Edit():
            form.put(_absolute(intent.path, conversation), *_PATHS)
            _edit(form, intent)
        case Read():
            form.put(_absolute(intent.path, conversation), *_PATHS)
        case Todo():
            _todo(form, intent)
        case Task():
            _task(form, intent, tool, conversation)
        case Wait():
            form.offer_seconds(intent.seconds, "timeout_ms", "timeout")
            form.offer(_UUID.findall(conversation.results)[-1:], "targets", "ids", "agent_ids")
        case Finish():
            _finish(form, intent, tool)
        case Named():
            return intent.arguments
    return form.filled()


def _absolute(path: str, conversation: Conversation) -> str:
    """The path below the workspace, where the CLI told it: some tools take no other."""
    return str(PurePosixPath(conversation.folder or "") / path)


def _shell(form: Form, intent: Shell) -> None:
    name = form.named("command", "cmd", "script") or "command"
    listed = form.property(name).get("type") == "array"
    form.put(["bash", "-lc", intent.command] if listed else intent.command, name)
    form.offer(intent.title or "Run a command", "description")
    form.offer(False, "is_background")  # noqa: FBT003 - the value of an argument
    if intent.timeout_seconds is not None:
        form.offer_seconds(intent.timeout_seconds, "timeout_ms", "timeout", "yield_time_ms")


def _edit(form: Form, intent: Edit) -> None:
    if "edit" in form.properties:
        form.put({"old": intent.old, "new": intent.new}, "edit")
    else:
        form.put(intent.old, "old_string", "oldString", "old_str")
        form.put(intent.new, "new_string", "newString", "new_str")
    form.offer("Replace the text", "instruction")


def _todo(form: Form, intent: Todo) -> None:
    name = form.named("todos", "plan", "items") or "todos"
    known = form.items(name)
    text = next((one for one in ("content", "step", "title", "description") if one in known), None)
    rows = []
    for number, item in enumerate(intent.items, 1):
        row: dict[str, Any] = {text or "content": item.text, "status": _state(known, item.state)}
        extra = {"id": str(number), "priority": "medium", "activeForm": item.text}
        row.update({key: value for key, value in extra.items() if key in known and key != text})
        rows.append(row)
    form.put(rows, name)


def _state(known: Mapping[str, Any], state: State) -> str:
    choices = resolved(mapping(known.get("status")), {}).get("enum")
    if not isinstance(choices, list) or not choices or state.value in choices:
        return state.value
    other = _DONE.get(state.value, state.value)
    return other if other in choices else str(choices[0])


def _task(form: Form, intent: Task, tool: Tool, conversation: Conversation) -> None:
    form.put(intent.prompt, "prompt", "message", "objective", "query", "request", "task")
    form.offer(intent.title, "description", "title")
    form.offer(re.sub(r"[^a-z0-9_]", "_", intent.title.lower()), "task_name")
    form.offer(False, "run_in_background")  # noqa: FBT003 - the value of an argument
    if name := form.named("subagent_type", "agent_type", "agent_name", "subagent_name"):
        about = form.property(name)
        told = [str(about.get("description")), tool.description, conversation.system]
        form.offer(_child_kind(about, "\n".join(told)), name)


def _child_kind(about: Mapping[str, Any], told: str) -> str:
    """The kind of sub-agent that may do anything, as the CLI calls it in a choice or a list."""
    choices = about.get("enum")
    if isinstance(choices, list) and choices:
        return str(next((one for one in _CHILDREN if one in choices), choices[0]))
    held = (one for one in _CHILDREN if _listed(one).search(told))
    return next(held, _CHILDREN[0])


def _finish(form: Form, intent: Finish, tool: Tool) -> None:
    name = form.named("result", "response", "output", "report") or "result"
    inner = resolved(form.property(name), tool.schema).get("properties")
    if not isinstance(inner, dict) or not inner:
        form.put(intent.report, name)
        return
    key = next((one for one in ("response", "result", "report") if one in inner), next(iter(inner)))
    form.put({key: intent.report}, name)
