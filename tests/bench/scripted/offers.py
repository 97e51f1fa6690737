"""The tools that CLIs offer, as far as a script needs them: names, arguments, what is required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.scripted.conversation import Kind, Tool

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
YES: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer", "maximum": 9007199254740991}
TEXTS: Schema = {"type": "array", "items": TEXT}


def choice(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def limit(unit: str, most: int | None = None) -> Schema:
    """A time that may be given."""
    about = {"type": "integer", "description": f"Optional timeout in {unit}"}
    return about if most is None else {**about, "maximum": most}


def fields(required: str, **properties: Schema) -> Schema:
    """A mapping with these keys, and no others."""
    return {
        "type": "object", "properties": properties, "required": required.split(),
        "additionalProperties": False,
    }  # fmt: skip


def tool(name: str, required: str, about: str = "", **properties: Schema) -> Tool:
    """A tool that takes JSON."""
    return Tool(name=name, schema=fields(required, **properties), description=about)


def rows(**properties: Schema) -> Schema:
    """A list of mappings, all keys required."""
    return {"type": "array", "items": fields(" ".join(properties), **properties)}


CLAUDE = (
    tool("Agent", "description prompt", "Types:\n- general-purpose: General work\n- Explore: Looks",
         description=TEXT, prompt=TEXT, subagent_type=choice("general-purpose", "Explore"),
         model=choice("sonnet", "opus"), run_in_background=YES, isolation=choice("worktree")),
    tool("Bash", "command", command=TEXT, timeout=limit("milliseconds (max 600000)"),
         description=TEXT, run_in_background=YES, dangerouslyDisableSandbox=YES),
    tool("Edit", "file_path old_string new_string", file_path=TEXT, old_string=TEXT,
         new_string=TEXT, replace_all=YES),
    tool("Read", "file_path", file_path=TEXT, offset=WHOLE, limit=WHOLE, pages=TEXT),
    tool("ToolSearch", "query", query=TEXT),
    tool("Write", "file_path content", file_path=TEXT, content=TEXT),
)  # fmt: skip

CODEX = (
    tool("exec_command", "cmd", cmd=TEXT, justification=TEXT, login=YES, tty=YES, workdir=TEXT,
         yield_time_ms={"type": "number"}, sandbox_permissions=choice("use_default")),
    tool("write_stdin", "session_id", session_id=WHOLE, chars=TEXT),
    tool("spawn_agent", "", fork_context=YES, items=rows(text=TEXT), message=TEXT, model=TEXT),
    tool("wait_agent", "targets", targets=TEXTS, timeout_ms={"type": "number"}),
)  # fmt: skip

CODEX_PATCHING = (
    CODEX[0],
    Tool(name="apply_patch", schema={}, kind=Kind.FREEFORM),
    Tool(name="tool_search", schema={}, kind=Kind.SEARCH),
)

CODEX_CODING = (
    Tool(name="exec", schema={}, kind=Kind.FREEFORM, namespace="functions"),
    tool("spawn_agent", "message task_name", message=TEXT, task_name=TEXT),
    tool("wait_agent", "", timeout_ms={"type": "number"}),
)

KIMI_CLI = (
    tool("Agent", "description prompt", "- `coder`: Good at general work\n- `explore`: Fast",
         description=TEXT, prompt=TEXT, subagent_type=TEXT, run_in_background=YES,
         timeout={"anyOf": [{"maximum": 3600, "type": "integer"}, {"type": "null"}]}),
    tool("SetTodoList", "", todos={"anyOf": [
        rows(title=TEXT, status=choice("pending", "in_progress", "done")), {"type": "null"}]}),
    tool("Shell", "command", command=TEXT, timeout=limit("seconds", 86400),
         run_in_background=YES, description=TEXT),
    tool("ReadFile", "path", path=TEXT, line_offset=WHOLE, n_lines=WHOLE),
    tool("WriteFile", "path content", path=TEXT, content=TEXT, mode=choice("overwrite", "append")),
    tool("StrReplaceFile", "path edit", path=TEXT, edit={"anyOf": [
        fields("old new", old=TEXT, new=TEXT, replace_all=YES), rows(old=TEXT, new=TEXT)]}),
)  # fmt: skip

KIMI_CODE = (
    tool("Agent", "prompt description", '"coder" does any work', prompt=TEXT, description=TEXT,
         subagent_type=choice("explore", "coder"), resume=TEXT, run_in_background=YES),
    tool("Bash", "command", command=TEXT, cwd=TEXT, timeout=limit("seconds", 9007199254740991),
         description=TEXT, run_in_background=YES, disable_timeout=YES),
    tool("Edit", "path old_string new_string", path=TEXT, old_string=TEXT, new_string=TEXT),
    tool("Read", "path", path=TEXT, n_lines=WHOLE, max_chars=WHOLE),
    tool("TodoList", "", todos=rows(title=TEXT, status=choice("pending", "in_progress", "done"))),
    tool("Write", "path content", path=TEXT, content=TEXT, mode=choice("overwrite", "append")),
)  # fmt: skip

GEMINI = (
    tool("read_file", "file_path", file_path=TEXT, start_line=WHOLE, end_line=WHOLE),
    tool("replace", "file_path instruction old_string new_string", file_path=TEXT,
         instruction=TEXT, old_string=TEXT, new_string=TEXT, allow_multiple=YES),
    tool("write_file", "file_path content", file_path=TEXT, content=TEXT),
    tool("run_shell_command", "command", command=TEXT, description=TEXT, dir_path=TEXT,
         is_background=YES, delay_ms=WHOLE),
    tool("write_todos", "todos", todos=rows(
        description=TEXT, status=choice("pending", "in_progress", "completed", "cancelled"))),
    tool("invoke_agent", "agent_name prompt", agent_name=TEXT, prompt=TEXT, wait_for_previous=YES),
    tool("google_web_search", "query", query=TEXT),
)  # fmt: skip

QWEN = (
    tool("agent", "description prompt", "- **general-purpose**: Any work", description=TEXT,
         prompt=TEXT, subagent_type=TEXT, fork_tools=TEXTS, run_in_background=YES),
    tool("edit", "file_path old_string new_string", file_path=TEXT, old_string=TEXT,
         new_string=TEXT, replace_all=YES),
    tool("read_file", "file_path", file_path=TEXT, offset={"type": ["integer", "null"]}),
    tool("run_shell_command", "command", command=TEXT, is_background=YES, description=TEXT,
         timeout=limit("milliseconds (max 600000)", 600_000), directory=TEXT),
    tool("tool_search", "query", query=TEXT, max_results=WHOLE),
    tool("write_file", "file_path content", file_path=TEXT, content=TEXT, record_as_artifact=YES),
)  # fmt: skip

OPENCODE = (
    tool("bash", "command", command=TEXT, timeout=limit("milliseconds", 9007199254740991),
         workdir=TEXT),
    tool("edit", "filePath oldString newString", filePath=TEXT, oldString=TEXT, newString=TEXT),
    tool("read", "filePath", filePath=TEXT, offset=WHOLE, limit=WHOLE),
    tool("task", "description prompt subagent_type", "- general: Any work\n- explore: Looks",
         description=TEXT, prompt=TEXT, subagent_type=TEXT, task_id=TEXT, command=TEXT),
    tool("todowrite", "todos", todos=rows(content=TEXT, status=TEXT, priority=TEXT)),
    tool("write", "content filePath", content=TEXT, filePath=TEXT),
)  # fmt: skip

SYSTEMS: Mapping[str, str] = {"gemini": "- generalist -> A general-purpose agent"}
"""What else is told of sub-agents."""

OFFERS: Mapping[str, tuple[Tool, ...]] = {
    "claude": CLAUDE, "codex": CODEX, "codex-patching": CODEX_PATCHING,
    "codex-coding": CODEX_CODING, "kimi-cli": KIMI_CLI, "kimi-code": KIMI_CODE, "gemini": GEMINI,
    "qwen": QWEN, "opencode": OPENCODE,
}  # fmt: skip
