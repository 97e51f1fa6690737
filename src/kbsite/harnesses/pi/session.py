"""pi's session log: a tree of entries, written down in the order in which they came.

A log may go back to an earlier entry and on from there; what it left behind was said all the same
and is shown in its place, with a notice where the log turns back. Nothing tells the end but the
reason why the model stopped, so the last one is held back until no message can follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.lines import Line, mapping, text, timestamp
from kbsite.harnesses.pi.content import BY_HAND, STOPPED_SHORT, blocks, counted, message
from kbsite.harnesses.rows import Row, rows
from kbsite.model.event import Event, Finish, Malformed, Role, Session, Topic

_KNOWN = frozenset({"context_transform", "ephemeral", "label", "session_info"})
"""Types of rows with nothing to read: names, bookmarks, what only one request held."""
_SUMMED_UP = {"compaction": Topic.COMPACTION, "branch_summary": Topic.NOTE}
_OK = {"stop": True, "aborted": False, "error": False, "length": False}
PRINTED = frozenset({
    "agent_end", "agent_settled", "agent_start", "auto_retry_end", "auto_retry_start",
    "bash_execution_update", "compaction_end", "compaction_start", "entry_appended",
    "extension_error", "message_end", "message_start", "message_update", "queue_update",
    "session_info_changed", "summarization_retry_attempt_start", "summarization_retry_finished",
    "summarization_retry_scheduled", "thinking_level_changed", "tool_execution_end",
    "tool_execution_start", "tool_execution_update", "turn_end", "turn_start",
})  # fmt: skip
"""Types of rows that pi prints, and keeps in no log."""
_ROLES = frozenset({"assistant", "toolResult", "user", BY_HAND})


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader()
    for row in rows(lines, file):
        if isinstance(row, Malformed):
            yield from reader.started()
            reader.last, reader.ending = "", None
            yield row
        else:
            yield from reader.row(replace(row, at=timestamp(row.value.get("timestamp"))))
    yield from reader.started()
    if reader.ending:
        yield reader.ending


class _Reader(Struct):
    """What a session starts with, where its log is, and how it would end."""

    start: Row | None = None
    """The first row, until all is known that the session starts with."""
    held: list[Event] = field(default_factory=list)
    """The events that wait for it."""
    model: str = ""
    effort: str = ""
    last: str = ""
    """The entry before; empty if that is not known."""
    seen: dict[str, int] = field(default_factory=dict)
    """The lines of the entries before."""
    ending: Finish | None = None

    def row(self, row: Row) -> Iterator[Event]:
        """The events of a row."""
        kind = text(row.value.get("type"))
        if kind == "session":
            yield from self._begin(row)
            return
        yield from self._turned_back(row)
        if kind in ("model_change", "thinking_level_change"):
            yield from self._change(row, kind)
            return
        if kind in _KNOWN and self.start:
            self.held.append(row.trace(kind))
            return
        yield from self.started()
        match kind:
            case "message":
                self.ending = None
                yield from row.told(message(row), kind)
                self.ending = ending(row)
            case "custom_message":
                said = row.value.get("content")
                yield from row.told(blocks(row, said, Role.SYSTEM, injected=True), kind)
            case _:
                yield from row.told(_beside(row, kind), kind)

    def _begin(self, row: Row) -> Iterator[Event]:
        yield from self.started()
        self.start, self.last = row, ""
        self.model, self.effort = row.text("modelId"), row.text("thinkingLevel")

    def _change(self, row: Row, kind: str) -> Iterator[Event]:
        """A change of model or effort: part of the start, or told where it happens."""
        if kind == "model_change":
            self.model = _model(row.value)
            told = f"The model is now {self.model}."
        else:
            self.effort = row.text("thinkingLevel")
            told = f"The thinking level is now {self.effort}."
        if self.start:
            self.held.append(row.trace(kind))
        else:
            yield row.notice(Topic.NOTE, told)

    def started(self) -> Iterator[Event]:
        """The session, once there is more than its settings."""
        if self.start:
            yield self.start.event(
                Session,
                session_id=self.start.text("id"),
                model=self.model,
                effort=self.effort,
                cwd=self.start.text("cwd"),
                raw=self.start.raw,
            )
            yield from self.held
        self.start, self.held = None, []

    def _turned_back(self, row: Row) -> Iterator[Event]:
        parent, entry = row.text("parentId"), row.text("id")
        if parent and self.last and parent != self.last and parent in self.seen:
            yield from self.started()
            told = (
                f"The session goes back to line {self.seen[parent]}, entry {parent}, and on from "
                "there: the model sees nothing of what stands between any more."
            )
            yield row.notice(Topic.INTERRUPTION, told)
        self.last = entry
        self.seen.setdefault(entry, row.place.line)


def _beside(row: Row, kind: str) -> Iterator[Event]:
    """What an entry tells that is no message; nothing where there is nothing to read in it."""
    match kind:
        case "compaction" | "branch_summary":
            yield row.notice(_SUMMED_UP[kind], text(row.value.get("summary")))
            yield from counted(row, row.value, message_id=row.text("id"))
        case "usage":
            yield from counted(row, row.value, message_id=row.text("id"))
        case "context_edit":
            yield from _edited(row)
        case "custom":
            yield row.trace(f"custom:{text(row.value.get('customType'))}")
        case _ if kind not in _KNOWN:
            yield row.unknown(kind)
        case _:
            pass


def _edited(row: Row) -> Iterator[Event]:
    """What the model sees in place of an earlier entry; nothing where that is left out."""
    if row.value.get("replacement") is not None:
        told = f"The model sees entry {row.text('targetId')} as:\n{row.text('replacement')}"
        yield row.notice(Topic.NOTE, told)


def _model(changed: Mapping[str, object]) -> str:
    """The model's id as its messages name it: without the provider, where that stands before."""
    whole = text(changed.get("model"))
    return text(changed.get("modelId")) or whole.partition("/")[2] or whole


def ending(row: Row) -> Finish | None:
    """How the session would end with this message; None where the model is asked again."""
    said = mapping(row.value.get("message"))
    reason = text(said.get("stopReason"))
    if said.get("role") != "assistant" or reason == "toolUse" or not reason:
        return None
    told = text(said.get("errorMessage")) if reason in STOPPED_SHORT else ""
    return row.event(Finish, ok=_OK.get(reason), reason=reason, text=told, raw=row.raw)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a session log, or one that lost its start."""
    if any(text(row.get("type")) in PRINTED for row in head):
        return False
    return any(map(_is_start, head)) or (bool(head) and all(map(_is_message, head)))


def _is_start(row: Mapping[str, object]) -> bool:
    known = isinstance(row.get("cwd"), str) and isinstance(row.get("timestamp"), str)
    return row.get("type") == "session" and isinstance(row.get("id"), str) and known


def _is_message(row: Mapping[str, object]) -> bool:
    """Whether a row is a message with the time that every message of pi has of its own."""
    said = mapping(row.get("message"))
    timed = isinstance(said.get("timestamp"), int)
    return row.get("type") == "message" and text(said.get("role")) in _ROLES and timed
