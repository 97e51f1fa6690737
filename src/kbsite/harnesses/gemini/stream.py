"""`gemini --output-format stream-json`: what stands on stdout. Sub-agents are not printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.gemini.calls import call
from kbsite.harnesses.google_parts import ENDED
from kbsite.harnesses.lines import Line, count, mapping, text, timestamp
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Role,
    Scope,
    Session,
    TokenUse,
    ToolResult,
    Topic,
)
from kbsite.model.usage import Usage

_ROLES = {"assistant": Role.ASSISTANT, "system": Role.SYSTEM, "user": Role.USER}
_REFUSED = "[API Error: "
_DROPPED = "terminated]"
"""How the CLI tells that its provider answered with an error, and what stands there instead where
the connection was lost."""
_PIECES = 20_000
_CHARS = 4_000_000
"""A message is not held back beyond this many pieces and characters."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of the stream."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield from reader.spoken()
            yield row
        else:
            at = timestamp(row.value.get("timestamp"))
            yield from reader.row(replace(row, at=at))
    yield from reader.spoken()


class _Reader(Struct):
    """The session that is printed, and the message that is being printed in pieces.

    The message stands where its first piece does; the rows of the others are traces after it.
    """

    session: str = ""
    model: str = ""
    starts: dict[str, int] = field(default_factory=dict)
    """How often the CLI was started with each session."""
    started: datetime | None = None
    """When it was last started."""
    pieces: list[Row] = field(default_factory=list)
    chars: int = 0
    saying: bool = False
    """Whether the last of an answer that is known is words: it may have been broken off there."""

    def row(self, held: Row) -> Iterator[Event]:
        """The events of a row, after those of a message that it ends."""
        if _is_piece(held.value):
            self.saying = True
            yield from self._piece(held)
            return
        if held.value.get("type") in ("init", "tool_use"):
            self.saying = False
        yield from self.spoken()
        yield from self._row(held)

    def spoken(self) -> Iterator[Event]:
        """The message that was printed in pieces so far, if any."""
        if not self.pieces:
            return
        first, *rest = self.pieces
        said = "".join(text(piece.value.get("content")) for piece in self.pieces)
        self.pieces, self.chars = [], 0
        yield first.event(Message, role=Role.ASSISTANT, text=said, model=self.model)
        for piece in rest:
            yield piece.trace("message/delta")

    def _piece(self, held: Row) -> Iterator[Event]:
        self.pieces.append(held)
        self.chars += len(held.raw)
        if len(self.pieces) >= _PIECES or self.chars >= _CHARS:
            yield from self.spoken()

    def _row(self, held: Row) -> Iterator[Event]:
        value = held.value
        match kind := text(value.get("type")):
            case "init":
                yield self._session(held)
            case "message":
                role = _ROLES.get(text(value.get("role")), Role.SYSTEM)
                model = self.model if role is Role.ASSISTANT else ""
                said = text(value.get("content"))
                yield held.event(Message, role=role, text=said, model=model)
            case "tool_use":
                name, call_id = text(value.get("tool_name")), text(value.get("tool_id"))
                yield call(held, name, value.get("parameters"), call_id)
            case "tool_result":
                yield _result(held)
            case "error":
                worst = value.get("severity", "error") == "error"
                told = text(value.get("message")) or held.raw
                yield held.notice(Topic.ERROR if worst else Topic.NOTE, told)
            case "result":
                yield from self._result(held)
            case _:
                yield held.unknown(kind)

    def _session(self, held: Row) -> Session:
        self.session = text(held.value.get("session_id"))
        self.starts[self.session] = self.starts.get(self.session, 0) + 1
        self.model, self.started = text(held.value.get("model")), held.at
        return held.event(Session, session_id=self.session, model=self.model, raw=held.raw)

    def _result(self, held: Row) -> Iterator[Event]:
        told = mapping(held.value.get("stats"))
        used = _usage(told)
        if used.known:
            # Taken up again, in whatever file, the CLI counts anew.
            start = f"{self.starts.get(self.session, 1)} {self.started}"
            counted = f"{self.session}#{start}" if self.session else ""
            # What was said of an answer that an error broke off is not counted.
            broken = self.saying and held.value.get("status") == "error"
            yield held.event(
                TokenUse, usage=used, scope=Scope.RUN, message_id=counted, lower_bound=broken
            )
        status = text(held.value.get("status"))
        error = text(mapping(held.value.get("error")).get("message"))
        milliseconds = count(told.get("duration_ms"))
        yield held.event(
            Finish,
            ok=status == "success" if status else None,
            reason=status,
            text=error,
            refused=error.startswith(_REFUSED) and not self.saying and _DROPPED not in error,
            seconds=None if milliseconds is None else milliseconds / 1000,
            raw=held.raw,
        )


def _is_piece(value: Mapping[str, object]) -> bool:
    spoken = value.get("type") == "message" and value.get("role") == "assistant"
    return spoken and value.get("delta") is True


def _result(held: Row) -> ToolResult:
    output = text(held.value.get("output"))
    error = text(mapping(held.value.get("error")).get("message"))
    return held.event(
        ToolResult,
        call_id=text(held.value.get("tool_id")),
        output="\n".join(filter(None, (output, "" if error in output else error))),
        is_error=ENDED.get(text(held.value.get("status"))),
    )


def _usage(told: Mapping[str, object]) -> Usage:
    """The CLI's own total: its input is with what was cached, its output without the thoughts.

    The thoughts are what the total has beyond both.
    """
    sent, cached, output, whole = (
        count(told.get(key)) for key in ("input_tokens", "cached", "output_tokens", "total_tokens")
    )
    fresh = count(told.get("input"))
    if fresh is None and sent is not None:
        fresh = max(sent - (cached or 0), 0)
    thoughts = None
    if sent is not None and output is not None and whole is not None:
        thoughts = max(whole - sent - output, 0)
    total = None if output is None else output + (thoughts or 0)
    return Usage(input=fresh, cache_read=cached, output=total, reasoning=thoughts)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is such a stream."""
    return any(_is_printed(value) for value in head)


def _is_printed(value: Mapping[str, object]) -> bool:
    match value.get("type"):
        case "init":
            return isinstance(value.get("session_id"), str) and "timestamp" in value
        case "tool_use":
            return "tool_name" in value and "tool_id" in value and "parameters" in value
        case "tool_result":
            return "tool_id" in value and "status" in value
        case "result":
            return "stats" in value and "status" in value
        case _:
            return False
