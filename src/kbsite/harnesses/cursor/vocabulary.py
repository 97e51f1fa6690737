"""The names of cursor-agent's tools."""

from __future__ import annotations

from kbsite.model.event import ToolKind

SUFFIX = "ToolCall"
"""What stdout puts behind a tool's name: `shellToolCall`."""

KINDS = {
    "applyAgentDiff": ToolKind.EDIT,
    "ApplyPatch": ToolKind.EDIT,
    "createPlan": ToolKind.PLAN,
    "CreatePlan": ToolKind.PLAN,
    "delete": ToolKind.EDIT,
    "Delete": ToolKind.EDIT,
    "edit": ToolKind.EDIT,
    "EditNotebook": ToolKind.EDIT,
    "fetch": ToolKind.WEB,
    "glob": ToolKind.SEARCH,
    "Glob": ToolKind.SEARCH,
    "grep": ToolKind.SEARCH,
    "Grep": ToolKind.SEARCH,
    "ls": ToolKind.READ,
    "LS": ToolKind.READ,
    "read": ToolKind.READ,
    "Read": ToolKind.READ,
    "readLints": ToolKind.READ,
    "ReadLints": ToolKind.READ,
    "readTodos": ToolKind.PLAN,
    "semSearch": ToolKind.SEARCH,
    "SemanticSearch": ToolKind.SEARCH,
    "shell": ToolKind.RUN,
    "Shell": ToolKind.RUN,
    "StrReplace": ToolKind.EDIT,
    "task": ToolKind.AGENT,
    "Task": ToolKind.AGENT,
    "TodoWrite": ToolKind.PLAN,
    "updateTodos": ToolKind.PLAN,
    "webFetch": ToolKind.WEB,
    "WebFetch": ToolKind.WEB,
    "webSearch": ToolKind.WEB,
    "WebSearch": ToolKind.WEB,
    "write": ToolKind.WRITE,
    "Write": ToolKind.WRITE,
}
"""By the names on stdout (lower case first) and on disk; tools of MCP servers are none of these."""
