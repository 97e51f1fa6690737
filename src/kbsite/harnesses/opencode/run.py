"""What `opencode run --format json` prints: one row for each part, once the part is done.

A call is only printed when it has ended, so one row holds call and result, and a row may be
older than the one before it. Sub-agents' sessions are not printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kbsite.harnesses.lines import Line, Record, mapping, records, text, timestamp
from kbsite.harnesses.opencode.parts import error_notice, part_events
from kbsite.harnesses.opencode.progress import Progress
from kbsite.harnesses.opencode.row import Row
from kbsite.model.event import Event, Session, Unknown

_PARTS = {
    "step_start": "step-start",
    "text": "text",
    "reasoning": "reasoning",
    "tool_use": "tool",
    "step_finish": "step-finish",
}
"""The rows that wrap a part, and the type of that part."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    row, session, progress = Row(file, 0), "", Progress()
    for record in records(lines, file):
        line = record.source.line
        row = Row(file, line, part=row.part if line == row.line else 0)
        if not isinstance(record, Record):
            yield replace(record, source=row.source())
            continue
        row.at = timestamp(record.value.get("timestamp"))
        told = text(record.value.get("sessionID"))
        if told and told != session:
            yield from progress.close()
            session, progress = told, Progress()
            yield Session(source=row.source(), at=row.at, session_id=session, raw=record.raw)
        yield from _row_events(record, row, progress)
    yield from progress.close()


def _row_events(record: Record, row: Row, progress: Progress) -> Iterator[Event]:
    kind = text(record.value.get("type"))
    part = mapping(record.value.get("part"))
    if kind == "error":
        yield error_notice(record.value.get("error"), row, progress)
    elif kind in _PARTS and part:
        yield from part_events({**part, "type": _PARTS[kind]}, row, progress)
    else:
        yield Unknown(source=row.source(), at=row.at, type=kind, raw=record.raw)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are rows of `opencode run --format json`."""
    return (
        all(isinstance(row.get("sessionID"), str) and "timestamp" in row for row in head)
        and any(text(row.get("type")) in _PARTS and mapping(row.get("part")) for row in head)
    ) or (bool(head) and all(_is_error(row) for row in head))


def _is_error(row: Mapping[str, object]) -> bool:
    return row.get("type") == "error" and "error" in row and isinstance(row.get("sessionID"), str)
