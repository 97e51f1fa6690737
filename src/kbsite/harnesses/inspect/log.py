"""A log: its head, its samples, its end; as one JSON document, or as the members of an archive.

There are no lines to count in either, so an event's line is an ordinal: of the head, and of each
sample, message, event and score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from kbsite.harnesses.bounds import most_values
from kbsite.harnesses.inspect.archive import HEADER, SAMPLES, START, Member
from kbsite.harnesses.inspect.counts import cost, usage
from kbsite.harnesses.inspect.parts import Part, Parts, part_of
from kbsite.harnesses.inspect.sample import Sample
from kbsite.harnesses.lines import Line, mapping, parsed, sequence, text, timestamp
from kbsite.harnesses.rows import Ordinals, Row
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Scope,
    Session,
    TokenUse,
    Topic,
    Trace,
    Unknown,
)

Held = Mapping[str, object]

UNFINISHED = "The archive has no header that can be read: the log may not be finished."
MOST_VALUES = 20_000_000
"""Values that are read of an archive: its samples are in memory together."""
_MORE = f"beyond the {MOST_VALUES} values that are read of an archive"
_REPEATED = {"summaries.json", "reductions.json"}
_OK = {"success": True, "error": False, "cancelled": False}


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = _Reader(file)
    held = iter(lines)
    for first in held:
        rest = chain([first], held)
        if isinstance(first, Member):
            yield from reader.archive(rest)
        else:
            yield from reader.documents(rest)


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is a plain log: one document."""
    return _starts(head) and not _of_archive(head)


def recognises_archive(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether these are the members of an archive: what a plain log holds as one is apart."""
    return _starts(head) and _of_archive(head)


def _starts(head: Sequence[Mapping[str, object]]) -> bool:
    # What an archive is begun with tells no status: a log that was killed has nothing else.
    if not head or not {"status", "plan"} & {*head[0]}:
        return False
    told = mapping(head[0].get("eval"))
    return "task" in told and "model" in told


def _of_archive(head: Sequence[Mapping[str, object]]) -> bool:
    # A plain log that has no samples yet says as much as an archive's header, but stands alone.
    return "status" not in head[0] or (len(head) > 1 and "samples" not in head[0])


class _Reader(Ordinals):
    """How far a file is read."""

    samples: int = 0
    header: Held | None = None
    """That of an archive."""
    parts: Parts | None = None
    """The sample whose parts are being read."""
    values: int = 0
    """How many values its members may hold so far."""
    alone: bool = False
    """Whether it holds one sample."""
    head: Session | None = None
    """What it says of itself, until its first sample comes."""

    def row(self, value: Held, agent: str = "") -> Row:
        """What comes next in the file."""
        return Row(value, None, self.place(), None, agent)

    def documents(self, lines: Iterable[Line]) -> Iterator[Event]:
        """The events of a plain log."""
        for row in self.read(lines):
            if isinstance(row, Malformed):
                yield row
            else:
                yield from self._document(row.value)

    def _document(self, value: Held) -> Iterator[Event]:
        """The events of a log; its first sample is the main agent's."""
        samples = value.get("samples")
        self.alone = len(sequence(samples)) == 1
        self.head = self._head(value)
        for item in sequence(samples):
            yield from self._sample(item)
        yield from self._begins({})
        if samples and not isinstance(samples, list):
            yield self.row({}).unknown("samples", samples)
        yield from self._end(value)

    def _sample(self, item: object) -> Iterator[Event]:
        sample = mapping(item)
        yield from self._begins(sample)
        if not sample:
            yield self.row({}).unknown("sample", item)
            return
        name = f"sample {self.samples + 1}" if self.samples else ""
        self.samples += 1
        yield from Sample(sample, name, self.row).events()

    def archive(self, members: Iterable[Line]) -> Iterator[Event]:
        """The events of an archive, whose header comes before its samples."""
        for member in members:
            name = self._named(member)
            yield from self._whole(name)
            value = self._value(member, name)
            if isinstance(value, Malformed):
                yield value
            elif part := part_of(name):
                yield from self._part(part, value, len(member.text))
            elif not isinstance(value, dict):
                yield self._beside(name, member.text)
            elif name == HEADER or (name == START and self.header is None):
                yield from self._begun(name, value)
            elif name.startswith(SAMPLES) and value:
                yield from self._sample(value)
            else:
                yield self._beside(name, member.text)
        yield from self._whole("")
        yield from self._begins({})
        yield from self._end(self.header) if self.header else ()

    def _named(self, member: Line) -> str:
        if not isinstance(member, Member):
            return ""
        self.alone = member.samples == 1
        return member.name

    def _begun(self, name: str, value: Held) -> Iterator[Event]:
        """The head of an archive, which is the header unless the log was not finished."""
        self.head = self._head(value)
        if name == HEADER:
            self.header = value
        else:
            yield from self._begins({})
            yield self.row({}).notice(Topic.INTERRUPTION, UNFINISHED)

    def _begins(self, sample: Held) -> Iterator[Session]:
        """The head of the log, before its first sample.

        One that is alone may have waited for others for long, which is none of its time.
        """
        if self.head is not None:
            apart = self.alone and timestamp(sample.get("started_at")) is not None
            yield replace(self.head, at=None) if apart else self.head
        self.head = None

    def _part(self, part: Part, value: object, size: int) -> Iterator[Event]:
        """Take in a part of a sample; what cannot be one is shown."""
        if self.parts is None:
            self.parts = Parts(part.sample)
        if why := self.parts.add(part, value, size):
            yield Malformed(source=self.place().source(), text=part.member, reason=why)

    def _whole(self, name: str) -> Iterator[Event]:
        """The sample whose parts were read, unless the next member is one of them."""
        part = part_of(name)
        if self.parts and (part is None or part.sample != self.parts.sample):
            held, self.parts = self.parts, None
            yield from self._sample(held.whole())
            if held.cut:
                yield Malformed(source=self.place().source(), text=held.sample, reason=held.cut)

    def _value(self, member: Line, name: str) -> object:
        """What a member holds; Malformed if that cannot be told."""
        source = self.place().source
        if isinstance(member, Member) and member.problem:
            return Malformed(source=source(), text=name, reason=member.problem)
        if not name.endswith(".json"):
            return None
        self.values += most_values(member.text)
        if self.values > MOST_VALUES:
            return Malformed(source=source(), text=name, reason=_MORE)
        try:
            return parsed(member.text, strict=True)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            why = "JSON nested too deeply to read" if deep else f"not valid JSON: {error}"
            return Malformed(source=source(), text=f"{name}\n{member.text}", reason=why)

    def _beside(self, name: str, held: str) -> Event:
        """A member that is neither header nor sample: most repeat what those say."""
        row = self.row({})
        if name.endswith("/") or name in _REPEATED or name.startswith("_journal/"):
            return row.event(Trace, type=name, raw=held)
        return row.event(Unknown, type=f"member {name}", raw=held)

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
            named = mapping(value.get("eval"))
            # One run makes a log of each of its tasks; only newer logs have a name of their own.
            names = ("eval_id",) if named.get("eval_id") else ("run_id", "task_id")
            log = " ".join(text(named.get(name)) for name in names)
            spent = cost(stats.get("model_usage"))
            yield row.event(
                TokenUse, usage=counted, scope=Scope.RUN, message_id=log, cost_usd=spent
            )
        start = timestamp(stats.get("started_at"))
        took = (row.at - start).total_seconds() if row.at and start else None
        if told := _results(mapping(value.get("results"))):
            yield row.notice(Topic.NOTE, told)
        yield row.event(
            Finish,
            ok=_OK.get(status),
            reason=status,
            text=text(mapping(error).get("message", error)),
            seconds=took if took is not None and took >= 0 else None,
            raw=row.raw,
        )


def _results(results: Held) -> str:
    """What the samples' scores come to, a line a scorer."""
    told = []
    for item in sequence(results.get("scores")):
        score = mapping(item)
        metrics = mapping(score.get("metrics"))
        values = [f"{key} {text(mapping(held).get('value'))}" for key, held in metrics.items()]
        told.append(f"Result {text(score.get('name'))}: {', '.join(values)}")
    return "\n".join(told)
