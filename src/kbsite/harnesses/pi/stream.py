"""What `pi --mode json` prints: messages as its session log keeps them, and how they came to be.

A message stands in the row that ends it; the rows before bring it in pieces, those after repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.lines import Line, dump, integer, mapping, text, timestamp
from kbsite.harnesses.pi.content import message, words
from kbsite.harnesses.pi.session import PRINTED, ending
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import Event, Finish, Malformed, Notice, Session, ToolResult, Topic

_NOTICES = {
    "auto_retry_end": (Topic.ERROR, "finalError"),
    "summarization_retry_scheduled": (Topic.RETRY, "errorMessage"),
    "extension_error": (Topic.ERROR, "error"),
}
"""Rows that tell a reader something, with the field that says it; traces where it is empty."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            reader.ending = None
            yield row
        else:
            kind = text(row.value.get("type"))
            yield from row.told(reader.row(kind, row), kind)
    for row in reader.running.values():
        if told := words(mapping(row.value.get("partialResult")).get("content")):
            yield row.still_runs(told)
    if reader.ending:
        yield reader.ending


class _Reader(Struct):
    """How the session would end, and what its commands came back with."""

    ending: Finish | None = None
    codes: dict[str, int] = field(default_factory=dict)
    """Exit codes by call, until the message with the result comes."""
    running: dict[str, Row] = field(default_factory=dict)
    """The last rows of calls under way that tell what they printed so far."""

    def row(self, kind: str, row: Row) -> Iterator[Event]:
        """The events of a row; none where there is nothing to read in it."""
        match kind:
            case "session":
                self.ending = None
                yield row.of("", timestamp(row.value.get("timestamp"))).event(
                    Session, session_id=row.text("id"), cwd=row.text("cwd"), raw=row.raw
                )
            case "message_end":
                yield from self._message(row)
            case "tool_execution_update":
                self.running[row.text("toolCallId")] = row
            case "tool_execution_end":
                self._ended(row)
            case _ if kind not in PRINTED:
                yield row.unknown(kind)
            case _:
                yield from _notices(kind, row)

    def _ended(self, row: Row) -> None:
        self.running.pop(row.text("toolCallId"), None)
        told = mapping(mapping(row.value.get("result")).get("structuredContent"))
        code = integer(told.get("exit_code"))
        if code is not None:
            self.codes[row.text("toolCallId")] = code

    def _message(self, row: Row) -> Iterator[Event]:
        said = mapping(row.value.get("message"))
        row = replace(row, at=timestamp(said.get("timestamp")))
        for event in message(row):
            if isinstance(event, ToolResult) and event.exit_code is None:
                yield replace(event, exit_code=self.codes.pop(event.call_id, None))
            else:
                yield event
        self.ending = ending(row)


def _notices(kind: str, row: Row) -> Iterator[Notice]:
    """What a row tells a reader, if anything."""
    if kind == "auto_retry_start":
        # The message that failed has told why.
        numbers = (dump(row.value.get(key)) for key in ("attempt", "maxAttempts"))
        yield row.notice(Topic.RETRY, "Retry {} of {}.".format(*numbers))
    elif kind == "compaction_end":
        told = mapping(row.value.get("result")) or row.value
        summary = text(told.get("summary"))
        said = summary or text(told.get("errorMessage")) or "The compaction was broken off."
        yield row.notice(Topic.COMPACTION, said, undone=not summary)
    elif kind in _NOTICES:
        topic, key = _NOTICES[kind]
        if said := row.text(key):
            yield row.notice(topic, said)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is what pi prints: a message that ends, or its own words for what happens."""
    known = [text(row.get("type")) for row in head]
    own = sum(kind in PRINTED for kind in known)
    return bool(own) and all(kind in PRINTED or kind == "session" for kind in known)
