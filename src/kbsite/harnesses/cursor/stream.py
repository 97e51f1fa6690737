"""What `cursor-agent --print --output-format stream-json` prints.

Thinking comes in pieces and is shown whole where it ends. With `--stream-partial-output` answers
come in pieces, too, and again whole: the pieces are shown only where the whole is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.cursor.calls import Calls
from kbsite.harnesses.cursor.content import message
from kbsite.harnesses.lines import Line, count, mapping, number, sequence, text, timestamp
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Role,
    Scope,
    Session,
    Thought,
    TokenUse,
)
from kbsite.model.usage import Usage


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of the stream."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield row
        else:
            told = replace(row, at=timestamp(row.value.get("timestamp_ms")))
            yield from told.told(reader.row(told), _kind(told))
    yield from reader.close()


def _kind(row: Row) -> str:
    kind, subtype = text(row.value.get("type")), text(row.value.get("subtype"))
    return f"{kind}/{subtype}" if subtype else kind


class _Pieces(Struct):
    """Text that comes in pieces."""

    texts: list[str] = field(default_factory=list)
    last: Row | None = None

    def add(self, row: Row, piece: str) -> None:
        """Take in the next piece."""
        self.texts.append(piece)
        self.last = row

    def take(self) -> str:
        """All pieces so far; after that there are none."""
        whole = "".join(self.texts)
        self.texts.clear()
        return whole


class _Reader(Struct):
    """What rows say of later ones."""

    calls: Calls = field(default_factory=Calls)
    thinking: _Pieces = field(default_factory=_Pieces)
    answer: _Pieces = field(default_factory=_Pieces)

    def row(self, row: Row) -> Iterator[Event]:
        """The events of a row."""
        match _kind(row):
            case "thinking/delta":
                self.thinking.add(row, text(row.value.get("text")))
                yield row.trace("thinking/delta")
            case "thinking/completed":
                yield row.event(Thought, text=self.thinking.take() + text(row.value.get("text")))
            case "assistant":
                yield from self._assistant(row)
            case kind:
                yield from self._answer_so_far()
                yield from self._thinking_so_far()
                yield from self._other(row, kind)

    def _other(self, row: Row, kind: str) -> Iterator[Event]:
        match kind:
            case "tool_call/started":
                yield from self.calls.started(row)
            case "tool_call/completed":
                yield from self.calls.completed(row)
            case "user":
                yield from message(row, Role.USER)
            case "system/init":
                yield _session(row)
            case _ if row.value.get("type") == "result":
                yield from _end(row)
            case _:
                yield row.unknown(kind)

    def _assistant(self, row: Row) -> Iterator[Event]:
        if "timestamp_ms" in row.value and "model_call_id" not in row.value:
            yield row.trace("assistant/delta")
            self.answer.add(row, _said(row))
            return
        if self.answer.texts and "".join(self.answer.texts) in _said(row):
            self.answer.take()
        yield from self._answer_so_far()
        yield from message(row, Role.ASSISTANT)

    def _answer_so_far(self) -> Iterator[Event]:
        if self.answer.last and self.answer.texts:
            yield self.answer.last.event(Message, role=Role.ASSISTANT, text=self.answer.take())

    def _thinking_so_far(self) -> Iterator[Event]:
        if self.thinking.last and self.thinking.texts:
            yield self.thinking.last.event(Thought, text=self.thinking.take())

    def close(self) -> Iterator[Event]:
        """What was under way when the stream ended."""
        yield from self._thinking_so_far()
        yield from self._answer_so_far()
        yield from self.calls.close()


def _said(row: Row) -> str:
    """The text of an assistant's row."""
    content = mapping(row.value.get("message")).get("content")
    if isinstance(content, str):
        return content
    return "".join(text(mapping(block).get("text")) for block in sequence(content))


def _session(row: Row) -> Session:
    return row.event(
        Session,
        session_id=text(row.value.get("session_id")),
        model=text(row.value.get("model")),
        cwd=text(row.value.get("cwd")),
        raw=row.raw,
    )


def _end(row: Row) -> Iterator[Event]:
    told = mapping(row.value.get("usage"))
    usage = Usage(
        input=count(told.get("inputTokens")),
        cache_read=count(told.get("cacheReadTokens")),
        cache_write=count(told.get("cacheWriteTokens")),
        output=count(told.get("outputTokens")),
    )
    if usage.known:
        request = text(row.value.get("request_id")) or text(row.value.get("session_id"))
        yield row.event(TokenUse, usage=usage, scope=Scope.RUN, message_id=request)
    failed, took = row.value.get("is_error"), number(row.value.get("duration_ms"))
    yield row.event(
        Finish,
        ok=not failed if isinstance(failed, bool) else None,
        reason=text(row.value.get("subtype")),
        text=text(row.value.get("result", row.value.get("error"))),
        seconds=None if took is None or took < 0 else took / 1000,
        raw=row.raw,
    )


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether a file that starts with these objects is such a stream."""
    return any(_is_of_stream(value) for value in head)


def _is_of_stream(value: Mapping[str, object]) -> bool:
    if not isinstance(value.get("session_id"), str):
        return False
    match value.get("type"):
        case "tool_call":
            return isinstance(value.get("tool_call"), dict) and "call_id" in value
        case "thinking":
            return value.get("subtype") in ("delta", "completed")
        case "system":
            started = value.get("subtype") == "init" and "apiKeySource" in value
            return started and "permissionMode" in value and "tools" not in value
        case _:
            return False
