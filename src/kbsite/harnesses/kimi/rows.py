"""The rows of Kimi's files, each with the places that its events will have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

from kbsite.harnesses.lines import Line, records
from kbsite.model.event import Event, Malformed, Notice, Source, Topic, Trace, Unknown


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object of a file, and what all events made of it share."""

    value: Mapping[str, object]
    raw: str
    places: Iterator[Source]
    """The places still free on its line, which glued rows share."""
    at: datetime | None = None
    agent: str = ""

    def where(self) -> dict[str, Any]:
        """The fields that every event has, for the next event of this row."""
        return {"source": next(self.places), "at": self.at, "agent": self.agent}

    def trace(self, kind: str) -> Trace:
        """The row as bookkeeping."""
        return Trace(type=kind, raw=self.raw, **self.where())

    def unknown(self, kind: str) -> Unknown:
        """The row as one that the parser does not know."""
        return Unknown(type=kind, raw=self.raw, **self.where())

    def notice(self, topic: Topic, text: str) -> Notice:
        """What the row tells, in words."""
        return Notice(topic=topic, text=text, raw=self.raw, **self.where())


def rows(source_lines: Iterable[Line], file: str) -> Iterator[Row | Malformed]:
    """The rows of a file; what is no row is Malformed."""
    number, places = 0, places_on(file, 0)
    for record in records(source_lines, file):
        if record.source.line != number:
            number = record.source.line
            places = places_on(file, number)
        if isinstance(record, Malformed):
            yield replace(record, source=next(places))
        else:
            yield Row(record.value, record.raw, places)


def places_on(file: str, line: int) -> Iterator[Source]:
    """The places on a line, one after the other."""
    return (Source(file, line, part) for part in count())


def or_trace(events: Iterable[Event], row: Row, kind: str) -> Iterator[Event]:
    """The events; the row as bookkeeping if there are none, so that no line is without one."""
    nothing = True
    for event in events:
        nothing = False
        yield event
    if nothing:
        yield row.trace(kind)
