"""Rows of Claude Code's session log as tests write them, and what the parser makes of them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, TypeVar

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.claude import session
from kbsite.harnesses.form import Held, Parse
from kbsite.harnesses.lines import lines
from kbsite.model.event import Event, TokenUse

E = TypeVar("E", bound=Event)
AT = "2026-11-21T05:14:04.862Z"


def read(*rows: object, file: str = "session/s.jsonl", parse: Parse = session.parse) -> list[Event]:
    data = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return list(parse(lines(io.BytesIO(data.encode("utf-8", "surrogateescape"))), file))


def held(name: str, rows: Sequence[object]) -> Held:
    """A file of a transcript."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return Held(name, lambda: lines(io.BytesIO(data)))


def only(kind: type[E], events: list[Event]) -> E:
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1, events
    return found[0]


def of(kind: type[E], events: list[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def user(content: object, **more: Any) -> dict[str, Any]:
    return {
        "type": "user", "uuid": "u", "parentUuid": None, "isSidechain": False, "timestamp": AT,
        "sessionId": "s", "version": "2.1.329", "cwd": "/workspace",
        "message": {"role": "user", "content": content}, **more,
    }  # fmt: skip


def assistant(
    *blocks: object, message: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "type": "assistant", "uuid": "a", "parentUuid": "u", "isSidechain": False, "timestamp": AT,
        "sessionId": "s", "version": "2.1.329", "cwd": "/workspace",
        "message": {"id": "m1", "model": "scripted-1", "role": "assistant",
                    "content": list(blocks), **(message or {})},
        **more,
    }  # fmt: skip


def call(call_id: str, name: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: object, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def used(output: int, **more: int) -> dict[str, Any]:
    return {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": output, **more}


def ledger(events: list[Event]) -> Ledger:
    held = Ledger()
    for use in of(TokenUse, events):
        held.add(use)
    return held


def cost_state(model_usage: object, **more: object) -> dict[str, Any]:
    return {"type": "cost-state", "sessionId": "s", "modelUsage": model_usage, **more}


def agent_call() -> dict[str, Any]:
    return assistant(call("t1", "Agent", description="count files", prompt="Count the files."))


def attached(kind: str, **held: object) -> dict[str, Any]:
    return {"type": "attachment", "sessionId": "s", "attachment": {"type": kind, **held}}
