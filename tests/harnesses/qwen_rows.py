"""Rows as Qwen Code writes them, and what its parsers make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kbsite.harnesses.form import matches
from kbsite.harnesses.qwen import FORMATS
from kbsite.model.event import Event
from tests.harnesses.reading import BESIDE, read, read_rows

SESSION, STREAM = FORMATS
CAPTURES = Path(__file__).parent / "captures" / "qwen"
SCENARIOS = sorted(path.parent for path in (BESIDE / "captures").glob("qwen-code-*/*/stdout.jsonl"))
FILE = "home/.qwen/projects/-workspace/chats/s-1.jsonl"
CHILD_FILE = "home/.qwen/projects/-workspace/subagents/s-1/agent-helper-c9.jsonl"
NOTE_FILE = CHILD_FILE.replace(".jsonl", ".meta.json")
AT = "2026-01-02T03:04:05.000Z"
COUNTS = {"promptTokenCount": 1500, "candidatesTokenCount": 50, "thoughtsTokenCount": 8,
          "totalTokenCount": 1550, "cachedContentTokenCount": 500}  # fmt: skip


def row(kind: str, *parts: Any, uuid: str = "1", **more: Any) -> Any:
    told = {"uuid": uuid, "parentUuid": None, "sessionId": "s-1", "timestamp": AT, "type": kind,
            "cwd": "/workspace", "version": "0.24.4"}  # fmt: skip
    return told | {"message": {"role": kind, "parts": list(parts)}} | more


def user(text: str = "do it", **more: Any) -> Any:
    return row("user", {"text": text}, **{"provenance": "real_user"} | more)


def assistant(*parts: Any, uuid: str = "2", **more: Any) -> Any:
    counted = {"model": "m-1", "usageMetadata": COUNTS}
    return row("assistant", *parts, uuid=uuid, **counted | more)


def asked(call_id: str = "c1", name: str = "run_shell_command", **given: Any) -> Any:
    held = given or {"command": "echo one"}
    return {"functionCall": {"id": call_id, "name": name, "args": held}}


def answered(
    output: str = "Output: one\nExit Code: 0", call_id: str = "c1", key: str = "output", **kept: Any
) -> Any:
    told = {"id": call_id, "name": "run_shell_command", "response": {key: output}}
    result = {"callId": call_id, "status": "success"} | kept
    return row("tool_result", {"functionResponse": told}, toolCallResult=result)


def system(subtype: str, **payload: Any) -> Any:
    return row("system", subtype=subtype, systemPayload=payload)


def telemetry(name: str, **event: Any) -> Any:
    return system("ui_telemetry", uiEvent={"event.name": f"qwen-code.{name}"} | event)


def response(**more: Any) -> Any:
    counts = {"input_token_count": 1500, "output_token_count": 50, "thoughts_token_count": 8,
              "cached_content_token_count": 500, "total_token_count": 1550}  # fmt: skip
    return telemetry("api_response", model="m-1", **counts | more)


def note(**more: Any) -> Any:
    told = {"agentId": "helper-c9", "agentType": "helper", "description": "child task",
            "parentSessionId": "s-1", "toolUseId": "c9", "parentAgentId": None,
            "createdAt": AT}  # fmt: skip
    return told | more


def logged(*rows: Any, name: str = FILE) -> list[Event]:
    return read_rows(SESSION, *rows, name=name)


def printed(*rows: Any) -> list[Event]:
    return read_rows(STREAM, *rows, name="stdout.jsonl")


def said(*blocks: Any, parent: str | None = None, message: str = "m", **usage: int) -> Any:
    counted = usage or {"input_tokens": 0, "output_tokens": 0}
    held = {"id": message, "role": "assistant", "model": "m-1", "content": list(blocks),
            "usage": counted}  # fmt: skip
    return {"type": "assistant", "session_id": "s-1", "parent_tool_use_id": parent, "message": held}


def returned(content: Any, call_id: str = "c1", parent: str | None = None, **more: Any) -> Any:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content} | more
    held = {"role": "user", "content": [block]}
    return {"type": "user", "session_id": "s-1", "parent_tool_use_id": parent, "message": held}


def use(name: str = "run_shell_command", call_id: str = "c1", **given: Any) -> Any:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"command": "ls"}}


def ended(**more: Any) -> Any:
    usage = {"input_tokens": 1500, "output_tokens": 50, "cache_read_input_tokens": 500}
    told = {"type": "result", "subtype": "success", "session_id": "s-1", "is_error": False,
            "duration_ms": 1500, "num_turns": 3, "result": "Done.", "usage": usage}  # fmt: skip
    return told | more


def captured(scenario: Path) -> list[Event]:
    """What the session logs of a captured run tell."""
    events = []
    for path in sorted(scenario.rglob("*")):
        name = str(path.relative_to(scenario))
        if path.is_file() and any(matches(name, glob) for glob in SESSION.globs):
            events += read(SESSION, path.read_bytes(), name)
    return events
