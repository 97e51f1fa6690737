"""Rows as opencode writes them, and what its parsers make of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, TypeVar

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import lines
from kbsite.harnesses.opencode import FORMATS
from kbsite.model.event import (
    Event,
    TokenUse,
)

EXPORT, SERVER, RUN = FORMATS
CAPTURES = Path(__file__).parent / "captures" / "opencode"

E_ = TypeVar("E_", bound=Event)


def read(form: Format, data: str | bytes, name: str = "f.json") -> list[Event]:
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    return list(form.parse(lines(stream), name))


def of(kind: type[E_], events: list[Event]) -> list[E_]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E_], events: list[Event]) -> E_:
    (event,) = of(kind, events)
    return event


def tokens(input_: int = 10, output: int = 5, reasoning: int = 2, read_: int = 7) -> Any:
    cache = {"read": read_, "write": 1}
    return {"input": input_, "output": output, "reasoning": reasoning, "cache": cache}


def tool(status: str = "completed", **state: Any) -> Any:
    given_state = {
        "status": status,
        "input": {"command": "ls"},
        "output": "a\n",
        "metadata": {"output": "a\n", "exit": 0, "truncated": False},
        "time": {"start": 1_795_000_000_000, "end": 1_795_000_001_500},
    } | state
    return {"id": "prt_t", "type": "tool", "tool": "bash", "callID": "c1", "state": given_state}


def started() -> Any:
    return {"id": "prt_s", "type": "step-start", "messageID": "msg_1"}


def finished(reason: str = "stop", part_id: str = "prt_f", **more: Any) -> Any:
    told = {"id": part_id, "type": "step-finish", "reason": reason, "tokens": tokens()}
    return told | {"cost": 0.5} | more


def said(text: str = "hello", **more: Any) -> Any:
    return {"id": "prt_x", "type": "text", "text": text} | more


def assistant(*parts: Any, **info: Any) -> Any:
    told = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "modelID": "m-1"}
    time = {"created": 1_795_000_000_000, "completed": 1_795_000_002_000}
    return {"info": told | {"time": time} | info, "parts": list(parts)}


def user(*parts: Any, **info: Any) -> Any:
    told = {"id": "msg_0", "sessionID": "ses_1", "role": "user", "agent": "build"}
    model = {"providerID": "p", "modelID": "m-1", "variant": "high"}
    time = {"created": 1_795_000_000_000}
    return {"info": told | {"time": time, "model": model} | info, "parts": list(parts)}


def document(*messages: Any, **info: Any) -> Any:
    told = {"id": "ses_1", "version": "1.18.33", "directory": "/workspace", "title": "A title"}
    return {"info": told | info, "messages": list(messages)}


def exported(*messages: Any, **info: Any) -> list[Event]:
    return read(EXPORT, json.dumps(document(*messages, **info), indent=2))


def row(kind: str, part: Any = None, **more: Any) -> Any:
    told = {"type": kind, "timestamp": 1_795_000_009_000, "sessionID": "ses_1"}
    return told | ({} if part is None else {"part": part}) | more


def printed(*rows: Any) -> list[Event]:
    return read(RUN, "".join(json.dumps(each) + "\n" for each in rows), "stdout.jsonl")


def ledger(events: list[Event]) -> Ledger:
    held = Ledger()
    for event in of(TokenUse, events):
        held.add(event)
    return held


def captured(scenario: str) -> dict[str, list[Event]]:
    """The events of each export of a capture by session, and of its stdout as "stdout"."""
    folder = CAPTURES / scenario
    found = {"stdout": read(RUN, (folder / "stdout.jsonl").read_bytes(), "stdout.jsonl")}
    for path in sorted(folder.glob("export/*.json")):
        found[path.stem] = read(EXPORT, path.read_bytes(), f"export/{path.name}")
    return found


def main_exports() -> tuple[list[Event], list[Event]]:
    """The events of the main session and of its sub-agent."""
    sessions = [events for name, events in captured("main").items() if name != "stdout"]
    child, parent = sorted(sessions, key=len)
    return parent, child
