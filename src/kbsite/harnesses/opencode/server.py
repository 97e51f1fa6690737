"""What opencode's server sends to those who listen: its sessions as they change, piece by piece.

A change brings a session, message or part whole, so the last states make up the export that
opencode would write, and are read as that. As there, an event's line is an ordinal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.lines import (
    Line,
    Record,
    dump,
    joined,
    mapping,
    parsed,
    records,
    sequence,
    text,
)
from kbsite.harnesses.opencode.export import Reader
from kbsite.harnesses.opencode.parts import error_words
from kbsite.model.event import Event, Malformed, Topic, Trace, Unknown

_CHANGES = frozenset({
    "message.part.updated", "message.updated", "session.created", "session.updated",
})  # fmt: skip
_KNOWN = frozenset({
    "catalog.updated", "file.edited", "file.watcher.updated", "integration.updated",
    "message.part.delta", "message.part.removed", "permission.replied", "permission.updated",
    "plugin.added", "reference.updated", "server.connected", "server.heartbeat",
    "session.compacted", "session.deleted", "session.diff", "session.idle", "session.status",
    "todo.updated",
})  # fmt: skip
"""Types of rows that tell nothing, or what a change tells as well."""


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file: its sessions, then the rows that they were made of."""
    reader, kept = Reader(file), _Kept()
    held = [(row, isinstance(row, dict) and kept.takes(row)) for row in _rows(lines, file)]
    reader.removed = frozenset(kept.removed)
    for document in kept.documents():
        yield from reader.document(document)
    yield from reader.progress.close()
    reader.agent = ""  # rows follow that are of all sessions
    for row, taken in held:
        yield _row(row, reader, taken=taken)


def _rows(lines: Iterable[Line], file: str) -> Iterator[Malformed | Mapping[str, object]]:
    """The rows of a file, whether it is a list of them or has one on each line."""
    held = [line for line in lines if not line.blank]
    if listed := _listed(held):
        yield from (row if isinstance(row, dict) else {"": row} for row in listed)
        return
    for record in records(held, file):
        yield record.value if isinstance(record, Record) else record


def _listed(held: Sequence[Line]) -> list[object]:
    """The items of a file that is one list; none where it is no list, or none that can be read."""
    whole = joined(held) if held and held[0].text.lstrip().startswith("[") else None
    try:
        return [] if whole is None or whole.unread else sequence(parsed(whole.text))
    except (ValueError, RecursionError):
        return []


def _row(row: Malformed | Mapping[str, object], reader: Reader, *, taken: bool) -> Event:
    """A row for itself: most only helped to tell a session."""
    place = reader.row()
    if isinstance(row, Malformed):
        return replace(row, source=place.source())
    kind, raw = text(row.get("type")), dump(row)
    if kind == "session.error":
        _, said = error_words(mapping(row.get("properties")).get("error"))
        return place.notice(Topic.ERROR, said, raw)
    if taken or (kind in _KNOWN and isinstance(row.get("properties"), dict)):
        return Trace(source=place.source(), type=kind, raw=raw)
    return Unknown(source=place.source(), type=kind, raw=raw)


class _Message(Struct):
    """A message as it stands, and its parts by their ids."""

    info: Mapping[str, object] = field(default_factory=dict)
    parts: dict[str, Mapping[str, object]] = field(default_factory=dict)


class _Kept(Struct):
    """The last state of all that changed, in the order in which it first came."""

    sessions: dict[str, Mapping[str, object]] = field(default_factory=dict)
    messages: dict[str, dict[str, _Message]] = field(default_factory=dict)
    """By session and message."""
    removed: set[str] = field(default_factory=set)

    def takes(self, row: Mapping[str, object]) -> bool:
        """Take in a row; False if it changes nothing that is kept."""
        kind, held = text(row.get("type")), mapping(row.get("properties"))
        info, part = mapping(held.get("info")), mapping(held.get("part"))
        if kind in ("session.created", "session.updated") and info.get("id"):
            self.sessions[text(info["id"])] = info
        elif kind == "message.updated" and info.get("id"):
            self._message(info.get("sessionID"), info["id"]).info = info
        elif kind == "message.part.updated" and part.get("id"):
            message = self._message(part.get("sessionID"), part.get("messageID"))
            message.parts[text(part["id"])] = part
        elif kind == "message.removed":
            self.removed.add(text(held.get("messageID")))
        elif kind == "message.part.delta":
            return self._grows(held)
        else:
            return False
        return True

    def _message(self, session: object, message: object) -> _Message:
        self.sessions.setdefault(text(session), {"id": session})
        return self.messages.setdefault(text(session), {}).setdefault(text(message), _Message())

    def _grows(self, held: Mapping[str, object]) -> bool:
        """Add a piece to a text of a part, which a killed session never tells whole."""
        key, delta = text(held.get("field")), held.get("delta")
        messages = self.messages.get(text(held.get("sessionID")), {})
        message = messages.get(text(held.get("messageID")), _Message())
        part = message.parts.get(text(held.get("partID")))
        before = part.get(key, "") if part else None
        if part is None or not isinstance(before, str) or not isinstance(delta, str):
            return False
        message.parts[text(held.get("partID"))] = {**part, key: before + delta}
        return True

    def documents(self) -> Iterator[Mapping[str, object]]:
        """Each session, as an export of it would be."""
        for session, info in self.sessions.items():
            yield {
                "info": info,
                "messages": [
                    {"info": held.info, "parts": list(held.parts.values())}
                    for held in self.messages.get(session, {}).values()
                ],
            }


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are events of the server, and some of them changes."""
    known = all(isinstance(row.get("properties"), dict) and "type" in row for row in head)
    return known and any(text(row.get("type")) in _CHANGES for row in head)
