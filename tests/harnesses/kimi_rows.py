"""Rows as the two Kimi programs write them, and what their parsers make of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from kbsite.fold.tokens import Ledger
from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.kimi import FORMATS
from kbsite.harnesses.lines import lines
from kbsite.model.event import Event, TokenUse
from tests.harnesses.reading import BESIDE

SESSION, WIRE, STREAM = FORMATS
CAPTURES = Path(__file__).parent / "captures" / "kimi"

E_ = TypeVar("E_", bound=Event)


def read(form: Format, data: str | bytes, name: str = "f.jsonl") -> list[Event]:
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    return list(form.parse(lines(stream), name))


def of(kind: type[E_], events: list[Event]) -> list[E_]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E_], events: list[Event]) -> E_:
    (event,) = of(kind, events)
    return event


def ledger(events: list[Event]) -> Ledger:
    found = Ledger()
    for event in of(TokenUse, events):
        found.add(event)
    return found


def written(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def wired(kind: str, **payload: Any) -> dict[str, Any]:
    """A row of kimi-cli's session log."""
    return {"timestamp": 1795238066.5, "message": {"type": kind, "payload": payload}}


def below(agent: str, call_id: str, kind: str, **payload: Any) -> dict[str, Any]:
    """A row of kimi-cli's session log about a sub-agent."""
    event = {"type": kind, "payload": payload}
    return wired("SubagentEvent", parent_tool_call_id=call_id, agent_id=agent, event=event)


def asked(call_id: str, arguments: str | None, tool: str = "Shell") -> dict[str, Any]:
    return wired("ToolCall", id=call_id, function={"name": tool, "arguments": arguments})


def came(call_id: str, output: Any, **value: Any) -> dict[str, Any]:
    held = {"is_error": False, "output": output, "message": "", "display": [], **value}
    return wired("ToolResult", tool_call_id=call_id, return_value=held)


def spent(sent: int, output: int, **more: int) -> dict[str, Any]:
    usage = {"input_other": sent, "output": output, "input_cache_read": 0, **more}
    return wired("StatusUpdate", token_usage=usage, message_id="chatcmpl-1")


def coded(kind: str, **row: Any) -> dict[str, Any]:
    """A row of Kimi Code's wire log."""
    return {"type": kind, "time": 1795238070867, **row}


def looped(kind: str, **event: Any) -> dict[str, Any]:
    """A row of Kimi Code's wire log about what its loop did."""
    return coded("context.append_loop_event", event={"type": kind, **event})


def folders() -> Iterator[Path]:
    """The captured runs: those committed here, and all of them where they lie beside."""
    yield from sorted(CAPTURES.glob("*/"))
    yield from sorted((BESIDE / "captures").glob("kimi-*/*/"))


def files(folder: Path, form: Format) -> dict[str, Path]:
    """A run's files of one format, by their path within transcript/."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    return {
        name: path
        for name, path in found.items()
        if path.is_file() and any(matches(name, glob) for glob in form.globs)
    }


def captured(folder: Path, form: Format) -> list[Event]:
    """The events of all files of a captured run that have one format."""
    return [
        event
        for name, path in files(folder, form).items()
        for event in read(form, path.read_bytes(), name)
    ]
