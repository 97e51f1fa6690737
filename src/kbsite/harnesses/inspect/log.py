"""A log as one JSON document: its head, its samples, its end.

There are no lines to count in a document, so an event's line is an ordinal: of the head, and of
each sample, message, event and score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kbsite.harnesses.inspect.counts import usage
from kbsite.harnesses.inspect.sample import Sample
from kbsite.harnesses.lines import Line, dump, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Place, Row, documents
from kbsite.model.event import Event, Finish, Malformed, Scope, Session, TokenUse

Held = Mapping[str, object]

_OK = {"success": True, "error": False, "cancelled": False}


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader(file)
    for row in documents(lines, file):
        if isinstance(row, Malformed):
            yield replace(row, source=reader.place().source())
        else:
            yield from reader.document(row.value)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a log."""
    if not head or "status" not in head[0]:
        return False
    told = mapping(head[0].get("eval"))
    return "task" in told and "model" in told


@dataclass(slots=True)
class _Reader:
    """How far a file is read."""

    file: str
    ordinal: int = 0

    def place(self) -> Place:
        """The place of what comes next in the file."""
        self.ordinal += 1
        return Place(self.file, self.ordinal)

    def row(self, value: Held, agent: str = "") -> Row:
        """What comes next in the file."""
        return Row(value, dump(value), self.place(), None, agent)

    def document(self, value: Held) -> Iterator[Event]:
        """The events of a log; its first sample is the main agent's."""
        yield self._head(value)
        samples = value.get("samples")
        for number, item in enumerate(sequence(samples)):
            sample = mapping(item)
            if not sample:
                yield self.row({}).unknown("sample", item)
                continue
            name = f"sample {number + 1}" if number else ""
            yield from Sample(sample, name, self.row).events()
        if samples and not isinstance(samples, list):
            yield self.row({}).unknown("samples", samples)
        yield from self._end(value)

    def _head(self, value: Held) -> Session:
        row = self.row({key: held for key, held in value.items() if key != "samples"})
        told = mapping(value.get("eval"))
        config = mapping(mapping(value.get("plan")).get("config"))
        return row.event(
            Session,
            at=timestamp(told.get("created")),
            session_id=text(told.get("run_id")),
            model=text(told.get("model")),
            effort=text(config.get("reasoning_effort")),
            harness_version=text(mapping(told.get("packages")).get("inspect_ai")),
            raw=row.raw,
        )

    def _end(self, value: Held) -> Iterator[Event]:
        status, stats = text(value.get("status")), mapping(value.get("stats"))
        error = value.get("error")
        row = replace(self.row(stats), at=timestamp(stats.get("completed_at")))
        counted = usage(stats.get("model_usage"))
        if counted.known:
            session = text(mapping(value.get("eval")).get("run_id"))
            yield row.event(TokenUse, usage=counted, scope=Scope.RUN, message_id=session)
        start = timestamp(stats.get("started_at"))
        took = (row.at - start).total_seconds() if row.at and start else None
        yield row.event(
            Finish,
            ok=_OK.get(status),
            reason=status,
            text=text(mapping(error).get("message", error)),
            seconds=took if took is not None and took >= 0 else None,
            raw=row.raw,
        )
