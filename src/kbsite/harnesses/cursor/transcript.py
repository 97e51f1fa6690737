"""The transcripts that cursor-agent keeps: who said what and which tools were asked for.

There are no results, times or tokens, and calls have no ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from kbsite.harnesses.cursor.content import message
from kbsite.harnesses.lines import Line, text
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import Event, Finish, Malformed, Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_ENDED = "turn_ended"
_OK = {"success": True, "completed": True, "error": False, "aborted": False, "cancelled": False}


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    agent = _agent(file)
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield replace(row, agent=agent)
        else:
            yield from _row(replace(row, agent=agent))


def _agent(file: str) -> str:
    """The sub-agent whose file this is; they lie in a folder within that of their parent."""
    path = PurePosixPath(file)
    return path.stem if path.parent.name == "subagents" else ""


def _row(row: Row) -> Iterator[Event]:
    role = _ROLES.get(text(row.value.get("role")))
    if role:
        yield from row.told(message(row, role), text(row.value.get("role")))
    elif row.value.get("type") == _ENDED:
        status = text(row.value.get("status"))
        told = text(row.value.get("error"))
        yield row.event(Finish, ok=_OK.get(status), reason=status, text=told, raw=row.raw)
    else:
        yield row.unknown(text(row.value.get("type", row.value.get("role"))))


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these rows have a role, and a message without one, and nothing else."""
    spoken = [row for row in head if row.get("type") != _ENDED]
    return bool(spoken) and all(map(_is_spoken, spoken))


def _is_spoken(row: Mapping[str, object]) -> bool:
    said = row.get("message")
    plain = set(row) == {"role", "message"} and row["role"] in ("user", "assistant")
    return plain and isinstance(said, dict) and "role" not in said and "content" in said
