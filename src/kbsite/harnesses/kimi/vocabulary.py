"""The names that both Kimi programs have for their tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kbsite.harnesses import tools
from kbsite.model.event import ToolCall, ToolKind

KINDS = {
    # kimi-cli
    "Shell": ToolKind.RUN,
    "CMD": ToolKind.RUN,
    "ReadFile": ToolKind.READ,
    "WriteFile": ToolKind.WRITE,
    "StrReplaceFile": ToolKind.EDIT,
    "EditFile": ToolKind.EDIT,
    "PatchFile": ToolKind.EDIT,
    "SearchWeb": ToolKind.WEB,
    "SetTodoList": ToolKind.PLAN,
    "Think": ToolKind.PLAN,
    "Task": ToolKind.AGENT,
    "CreateSubagent": ToolKind.AGENT,
    # Kimi Code
    "Read": ToolKind.READ,
    "Write": ToolKind.WRITE,
    "Edit": ToolKind.EDIT,
    "WebSearch": ToolKind.WEB,
    "TodoList": ToolKind.PLAN,
    "TaskOutput": ToolKind.RUN,
    "TaskStop": ToolKind.RUN,
    "AgentSwarm": ToolKind.AGENT,
    "CreateGoal": ToolKind.PLAN,
    "UpdateGoal": ToolKind.PLAN,
    "GetGoal": ToolKind.PLAN,
    # both
    "Bash": ToolKind.RUN,
    "ReadMediaFile": ToolKind.READ,
    "Glob": ToolKind.SEARCH,
    "Grep": ToolKind.SEARCH,
    "FetchURL": ToolKind.WEB,
    "Agent": ToolKind.AGENT,
    "EnterPlanMode": ToolKind.PLAN,
    "ExitPlanMode": ToolKind.PLAN,
}


def called(tool: str, given: object, **event: Any) -> ToolCall:
    """The call of a tool; `event` holds the rest of the ToolCall."""
    call = tools.call(KINDS, tool, given, **event)
    held = call.arguments
    if isinstance(held, str) or held.get("mode") != "append":
        return call
    return replace(call, edits=tuple(tools.added(edit.path, edit.new) for edit in call.edits))
