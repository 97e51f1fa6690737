"""One row of a transcript, and the events that are made of it, whatever the CLI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kbsite.harnesses import tools
from kbsite.harnesses.lines import Line, dump, joined, records, text, written
from kbsite.model.event import (
    Event,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Source,
    TokenUse,
    ToolCall,
    ToolKind,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.usage import Usage

E = TypeVar("E", bound=Event)

STILL_RUNS = "Output of a call that was still running:\n"
"""What stands before the output of a call that came to no end."""


class Place(Struct):
    """A line of a file, and how many events it has got so far."""

    file: str
    line: int
    events: int = 0

    def source(self) -> Source:
        """The place of the line's next event."""
        self.events += 1
        return Source(self.file, self.line, self.events - 1)


class Row(Struct, frozen=True):
    """A JSON object of a transcript, with what its events have in common."""

    value: Mapping[str, object]
    written: str | Line | None
    """Its text, or the line that holds nothing else; None where it stands within another object."""
    place: Place
    at: datetime | None = None
    agent: str = ""

    @property
    def raw(self) -> str:
        """Its text; of an object within another one, what its text could be."""
        return dump(self.value) if self.written is None else written(self.written)

    def of(self, agent: str, at: datetime | None) -> Row:
        """The row as one that an agent wrote at a time."""
        return Row(self.value, self.written, self.place, at, agent)

    def where(self) -> dict[str, Any]:
        """The fields that every event has, for the next event of this row."""
        return {"source": self.place.source(), "at": self.at, "agent": self.agent}

    def event(self, kind: type[E], **facts: Any) -> E:
        """An event of this row; `facts` may tell another time or agent."""
        told = {"source": self.place.source(), "at": self.at, "agent": self.agent, **facts}
        return kind(**told)

    def text(self, key: str) -> str:
        """The text under a key; empty where there is none."""
        return text(self.value.get(key))

    def call(
        self, kinds: Mapping[str, ToolKind], tool: str, given: object, call_id: str
    ) -> ToolCall:
        """A tool call of this row."""
        return tools.call(kinds, tool, given, call_id=call_id, **self.where())

    def told(self, events: Iterable[Event], kind: str) -> Iterator[Event]:
        """The events that were made of the row; a trace of this kind if there are none."""
        none = True
        for event in events:
            none = False
            yield event
        if none:
            yield self.trace(kind)

    def trace(self, kind: str) -> Trace:
        """The row, as one with nothing to read in it."""
        return self.event(Trace, type=kind, raw=self.raw)

    def unknown(self, kind: str, part: object = None) -> Unknown:
        """The row, or a part of it, as one of a type that its parser does not know."""
        return self.event(Unknown, type=kind, raw=self.raw if part is None else dump(part))

    def notice(self, topic: Topic, told: str, **facts: Any) -> Notice:
        """What the CLI tells in this row."""
        return self.event(Notice, topic=topic, text=told, raw=self.raw, **facts)

    def still_runs(self, told: str) -> Notice:
        """What a call had printed that came to no end."""
        return self.event(Notice, topic=Topic.INTERRUPTION, text=f"{STILL_RUNS}{told}")

    def uncounted(self) -> TokenUse:
        """That nobody counted what a request of this row used."""
        return self.event(TokenUse, usage=Usage(), scope=Scope.MESSAGE, lower_bound=True)

    def injected(self, told: str) -> Message:
        """Text that the CLI put before the model."""
        return self.event(Message, role=Role.SYSTEM, text=told, injected=True)


class Places(Struct):
    """The places of a file's lines, one after the other: objects glued onto a line share one."""

    file: str
    last: Place | None = None

    def of(self, line: int) -> Place:
        """The place of a line: the last one's, if that is the same line."""
        if self.last is None or line != self.last.line:
            self.last = Place(self.file, line)
        return self.last


def rows(lines: Iterable[Line], file: str) -> Iterator[Row | Malformed]:
    """The rows of a JSON-lines file; the events of a line are numbered across its objects."""
    places = Places(file)
    for record in records(lines, file):
        place = places.of(record.source.line)
        if isinstance(record, Malformed):
            yield replace(record, source=place.source())
        else:
            yield Row(record.value, record.written, place)


class Ordinals(Struct):
    """The places of what stands in documents, which have no lines to count: one after the other."""

    file: str
    ordinal: int = 0
    """That of what came last."""

    def place(self) -> Place:
        """The place of what comes next in the file."""
        self.ordinal += 1
        return Place(self.file, self.ordinal)

    def read(self, lines: Iterable[Line]) -> Iterator[Row | Malformed]:
        """The documents of the file; what is none gets the next place."""
        for row in documents(lines, self.file):
            yield row if isinstance(row, Row) else replace(row, source=self.place().source())


def documents(lines: Iterable[Line], file: str) -> Iterator[Row | Malformed]:
    """The JSON documents of a file, whether each has a line of its own or spans many."""
    whole = joined(line for line in lines if not line.blank)
    if whole is not None:
        yield from rows([whole], file)
