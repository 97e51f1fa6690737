"""Rows as Gemini CLI writes them, and what its parsers make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kbsite.harnesses.form import matches
from kbsite.harnesses.gemini import FORMATS
from kbsite.model.event import Event
from tests.harnesses.reading import BESIDE, read, read_rows

CHAT, STREAM = FORMATS
CAPTURES = Path(__file__).parent / "captures" / "gemini"
BESIDE_CAPTURES = BESIDE / "captures" / "gemini-cli-0.61.0"
FILE = "home/.gemini/tmp/work/chats/session-2026-01-02T03-04-0a1b2c3d.jsonl"
CHILD_FILE = "home/.gemini/tmp/work/chats/s-1/c-1.jsonl"
AT = "2026-01-02T03:04:05.000Z"
COUNTS = {"input": 1500, "output": 50, "cached": 500, "thoughts": 8, "tool": 0, "total": 1558}


def head(session: str = "s-1", **more: Any) -> Any:
    return {"sessionId": session, "projectHash": "h", "startTime": AT, "kind": "main"} | more


def user(content: Any = "do it", message: str = "u-1", **more: Any) -> Any:
    return {"id": message, "timestamp": AT, "type": "user", "content": content} | more


def gemini(content: Any = "", message: str = "g-1", **more: Any) -> Any:
    told = {"id": message, "timestamp": AT, "type": "gemini", "content": content, "thoughts": []}
    return told | {"tokens": COUNTS, "model": "m-1"} | more


def thought(subject: str = "Plan", description: str = "first this") -> Any:
    return {"subject": subject, "description": description, "timestamp": AT}


def answered(output: str = "one", call_id: str = "c1", **response: Any) -> Any:
    held = response or {"output": output}
    return {"functionResponse": {"id": call_id, "name": "run_shell_command", "response": held}}


def called(
    call_id: str = "c1", output: str = "Output: one\nProcess Group PGID: 7", **more: Any
) -> Any:
    told = {
        "id": call_id,
        "name": "run_shell_command",
        "args": {"command": "echo one"},
        "result": [answered(output, call_id)],
        "status": "success",
        "timestamp": "2026-01-02T03:04:09.000Z",
        "resultDisplay": "one",
    }
    return told | more


def patch(**values: Any) -> Any:
    return {"$set": values}


def chat(*rows: Any, name: str = FILE) -> list[Event]:
    return read_rows(CHAT, head(), *rows, name=name)


def document(*messages: Any, indent: int | None = 2, **more: Any) -> list[Event]:
    data = json.dumps(head(**more) | {"messages": list(messages)}, indent=indent)
    return read(CHAT, data, FILE.removesuffix("l"))


def printed(*rows: Any) -> list[Event]:
    return read_rows(STREAM, *rows, name="stdout.jsonl")


def init(session: str = "s-1") -> Any:
    return {"type": "init", "timestamp": AT, "session_id": session, "model": "m-1"}


def piece(content: str, **more: Any) -> Any:
    told = {"type": "message", "timestamp": AT, "role": "assistant", "content": content}
    return told | {"delta": True} | more


def ended(status: str = "success", **more: Any) -> Any:
    stats = {"total_tokens": 1558, "input_tokens": 1500, "output_tokens": 50, "cached": 500,
             "input": 1000, "duration_ms": 1500, "tool_calls": 1}  # fmt: skip
    return {"type": "result", "timestamp": AT, "status": status, "stats": stats} | more


def captured(scenario: Path) -> list[Event]:
    """What the session logs of a captured run tell."""
    events = []
    for path in sorted(scenario.rglob("*")):
        name = str(path.relative_to(scenario))
        if path.is_file() and any(matches(name, glob) for glob in CHAT.globs):
            events += read(CHAT, path.read_bytes(), name)
    return events
