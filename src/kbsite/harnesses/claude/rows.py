"""One row of a transcript and the events made of it, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from kbsite.harnesses.lines import Record, mapping, sequence, text, timestamp
from kbsite.model.event import Event, Message, Notice, Role, Source, Topic, Trace, Unknown

E = TypeVar("E", bound=Event)

_WORDING = ("text", "content", "file", "subject", "message", "blockingError", "additionalContext")


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object of a transcript, with what its events have in common."""

    value: Mapping[str, object]
    raw: str
    source: Source
    at: datetime | None
    agent: str

    def event(self, kind: type[E], **facts: Any) -> E:
        """An event of this row."""
        return kind(source=self.source, at=self.at, agent=self.agent, **facts)

    def trace(self, kind: str) -> Trace:
        """The row, as one with nothing to read in it."""
        return self.event(Trace, type=kind, raw=self.raw)

    def unknown(self, kind: str, raw: str = "") -> Unknown:
        """The row, or a part of it, as one of a type that no table here has."""
        return self.event(Unknown, type=kind, raw=raw or self.raw)

    def notice(self, topic: Topic, told: str) -> Notice:
        """What the row tells."""
        return self.event(Notice, topic=topic, text=told, raw=self.raw)

    def note(self, told: str) -> Message:
        """Text that the CLI put before the model."""
        return self.event(Message, role=Role.SYSTEM, text=told, injected=True)

    def text(self, key: str) -> str:
        """The text under a key; empty where there is none."""
        return text(self.value.get(key))


def row(record: Record, agent: str) -> Row:
    """A record as a row of this agent."""
    at = timestamp(record.value.get("timestamp"))
    return Row(record.value, record.raw, record.source, at, agent)


def whole(events: Iterable[Event], otherwise: Event) -> Iterator[Event]:
    """The events of a row, or the one that stands for a row without any."""
    none = True
    for event in events:
        none = False
        yield event
    if none:
        yield otherwise


def numbered(events: Iterable[Event]) -> Iterator[Event]:
    """The events with their part of the line counted, across objects that share a line."""
    line, part = 0, 0
    for event in events:
        part = part + 1 if event.source.line == line else 0
        line = event.source.line
        if event.source.part == part:
            yield event
        else:
            yield replace(event, source=replace(event.source, part=part))


def wording(value: object, depth: int = 8) -> str:
    """What there is to read in a value of any shape: texts, lists of them, objects around them."""
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (wording(item, depth - 1) for item in sequence(value))))
    if isinstance(value, dict) and depth:
        inner = next((value[key] for key in _WORDING if value.get(key)), None)
        return text(value or None) if inner is None else wording(inner, depth - 1)
    return text(value)


def rendered(value: Mapping[str, object]) -> str:
    """What the model was shown of an attachment, where the row has it word for word."""
    parts = (text(mapping(part).get("content")) for part in sequence(value.get("rendered")))
    return "\n\n".join(part for part in parts if part)
