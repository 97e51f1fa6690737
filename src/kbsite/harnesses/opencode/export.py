"""`opencode export`: a session as one JSON document, or (early versions) a message on each line.

There are no lines to count in a document, so an event's line is an ordinal: of the session, and
then of each message and part. A user's message counts before its parts and an assistant's after
them, where what it tells (errors, the end) happened. Messages added later change no ordinal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.harnesses.lines import (
    Line,
    Record,
    dump,
    joined,
    mapping,
    records,
    sequence,
    text,
    timestamp,
)
from kbsite.harnesses.opencode.parts import error_notice, part_events
from kbsite.harnesses.opencode.progress import (
    Progress,
    cost,
    counted,
    identity,
    message_use,
    uncounted,
    usage,
)
from kbsite.harnesses.opencode.row import Row
from kbsite.harnesses.opencode.taken_back import TakenBack, of_session
from kbsite.model.event import (
    Event,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    TokenUse,
    Topic,
    Trace,
    Unknown,
)  # fmt: skip


def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
    """The events of one file."""
    reader = Reader(file)
    for record in _objects(lines, file):
        if isinstance(record, Malformed):
            yield replace(record, source=reader.row().source())
        elif "parts" in record.value:
            yield from reader.message(record.value)
        elif "messages" in record.value:
            yield from reader.document(record.value)
        else:
            yield reader.unknown(",".join(record.value), record.raw)
    yield from reader.progress.close()


def recognises(head: Sequence[Mapping[str, object]]) -> bool:
    """Whether this is an exported session, or the messages of one."""
    if not head:
        return False
    info = mapping(head[0].get("info"))
    if isinstance(head[0].get("messages"), list):
        return text(info.get("id")).startswith("ses")
    return isinstance(head[0].get("parts"), list) and isinstance(info.get("sessionID"), str)


def _objects(lines: Iterable[Line], file: str) -> Iterator[Record | Malformed]:
    """The objects of a file, whether each has a line of its own or spans many."""
    stream = (line for line in lines if not line.blank)
    first = list(records([line], file)) if (line := next(stream, None)) else []
    if line and any(isinstance(record, Malformed) for record in first):
        yield from records(filter(None, [joined(chain([line], stream))]), file)
    else:
        yield from chain(first, records(stream, file))


class Reader(Struct):
    """The state of reading one file: how far it is, and which session this is."""

    file: str
    ordinal: int = 0
    agent: str = ""
    progress: Progress = field(default_factory=Progress)
    settings: tuple[str, str, str] = ("", "", "")
    """The model, effort and agent that the last turn was started with."""
    removed: frozenset[str] = frozenset()
    """Messages that were taken out of their sessions, by id."""
    back: TakenBack = field(default_factory=TakenBack)

    def row(self, time: object = None, role: Role = Role.ASSISTANT, model: str = "") -> Row:
        """The next row of the file."""
        self.ordinal += 1
        return Row(self.file, self.ordinal, self.agent, timestamp(time), role, model)

    def unknown(self, kind: str, raw: str) -> Unknown:
        """A row that is none of what the format knows."""
        return Unknown(source=self.row().source(), agent=self.agent, type=kind, raw=raw)

    def document(self, value: Mapping[str, object]) -> Iterator[Event]:
        """A session and all its messages."""
        yield from self.progress.close()
        info = mapping(value.get("info"))
        session_id, parent = text(info.get("id")), text(info.get("parentID"))
        self.agent = session_id if parent else ""
        self.progress = Progress()
        row = self.row(mapping(info.get("time")).get("created"))
        yield from self._session(info, row)
        yield from _rest("session", value, ("info", "messages"), row)
        self.back = of_session(info, value.get("messages"), self.removed)
        for message in sequence(value.get("messages")):
            yield from self.message(mapping(message) or {"info": message})
        if self.back.telling:
            yield self.back.ends(self.row(), self.progress)

    def _session(self, info: Mapping[str, object], row: Row) -> Iterator[Event]:
        model = mapping(info.get("model"))
        self.settings = (_model(model), _effort(model), text(info.get("agent")))
        yield Session(
            source=row.source(),
            at=row.at,
            agent=row.agent,
            session_id=text(info.get("id")),
            parent_session=text(info.get("parentID")),
            model=self.settings[0],
            effort=self.settings[1],
            harness_version=text(info.get("version")),
            cwd=text(info.get("directory")),
            raw=dump(info),
        )
        total = usage(info.get("tokens"))
        if counted(total):
            yield TokenUse(
                source=row.source(),
                at=timestamp(mapping(info.get("time")).get("updated")),
                agent=row.agent,
                usage=total,
                scope=Scope.AGENT,
                message_id=text(info.get("id")),
                model=self.settings[0],
                cost_usd=cost(info.get("cost")),
            )

    def message(self, value: Mapping[str, object]) -> Iterator[Event]:
        """A message and all its parts."""
        info = mapping(value.get("info"))
        gone = text(info.get("id")) in self.back.messages
        if gone and not self.back.telling:
            yield self.back.begins(self.row(), self.progress)
        elif self.back.telling and not gone:
            yield self.back.ends(self.row(), self.progress)
        self.progress.goes_on()
        match info.get("role"):
            case "user":
                row = self.row(mapping(info.get("time")).get("created"), Role.USER)
                yield from self._user(info, row)
                yield from _rest("message", value, ("info", "parts"), row)
                yield from self._parts(value, info, Role.USER)
            case "assistant":
                yield from self._parts(value, info, Role.ASSISTANT)
                time = mapping(info.get("time"))
                row = self.row(
                    time.get("completed", time.get("created")), model=text(info.get("modelID"))
                )
                yield from _rest("message", value, ("info", "parts"), row)
                yield from self._assistant(value, info, row)
            case other:
                row = self.row()
                if info or not value.get("info"):
                    yield _unknown_key(f"message:{text(other)}", value.get("info"), row)
                yield from _rest("message", value, ("info", "parts"), row)
                yield from self._parts(value, info, Role.ASSISTANT)

    def _parts(
        self, value: Mapping[str, object], info: Mapping[str, object], role: Role
    ) -> Iterator[Event]:
        created = mapping(info.get("time")).get("created")
        for item in sequence(value.get("parts")):
            part = mapping(item) or {"part": item}
            if self.back.part and part.get("id") == self.back.part:
                yield self.back.begins(self.row(), self.progress)
            row = self.row(created, role, text(info.get("modelID")))
            yield from part_events(part, row, self.progress, ends=info.get("summary") is not True)

    def _user(self, info: Mapping[str, object], row: Row) -> Iterator[Event]:
        model = mapping(info.get("model"))
        effort = _effort(model) or _effort(info)
        settings = (_model(model), effort, text(info.get("agent")))
        if settings == self.settings:
            yield _trace("user", info, row)
        else:
            self.settings = settings
            yield Session(
                source=row.source(),
                at=row.at,
                agent=row.agent,
                session_id=text(info.get("sessionID")),
                model=settings[0],
                effort=settings[1],
                raw=dump(info),
            )
        if info.get("system"):
            yield Message(
                source=row.source(),
                at=row.at,
                agent=row.agent,
                role=Role.SYSTEM,
                text=text(info["system"]),
                injected=True,
            )
        diffs = sequence(mapping(info.get("summary")).get("diffs"))
        if diffs:
            yield _changes(diffs, row)

    def _assistant(
        self, value: Mapping[str, object], info: Mapping[str, object], row: Row
    ) -> Iterator[Event]:
        yield _trace("assistant", info, row)
        types = {text(mapping(part).get("type")) for part in sequence(value.get("parts"))}
        if "step-finish" not in types:
            yield from self._stepless(info, row, stepped="step-start" in types)
            if info.get("finish"):
                self.progress.ended(text(info["finish"]), row, raw=dump(info))
        if info.get("error"):
            yield error_notice(info["error"], row, self.progress)
        elif info.get("summary") is True and "completed" in mapping(info.get("time")):
            yield _compacted(info, row)

    def _stepless(self, info: Mapping[str, object], row: Row, *, stepped: bool) -> Iterator[Event]:
        told = usage(info.get("tokens"))
        if counted(told):
            self.progress.open_step = None
            yield message_use(told, info, row, identity(info.get("id")))
        elif stepped or "completed" not in mapping(info.get("time")):
            self.progress.open_step = None
            yield uncounted(row, identity(info.get("id")))


def _rest(
    owner: str, value: Mapping[str, object], known: tuple[str, str], row: Row
) -> Iterator[Unknown]:
    """Whatever a session or message holds beside its info and its list of messages or parts."""
    info, items = known
    for key, held in value.items():
        read = (key == info and (not held or bool(mapping(held)))) or (
            key == items and isinstance(held, list)
        )
        if not read:
            yield _unknown_key(f"{owner}:{key}", held, row)


def _unknown_key(kind: str, value: object, row: Row) -> Unknown:
    return Unknown(source=row.source(), at=row.at, agent=row.agent, type=kind, raw=dump(value))


def _trace(kind: str, info: Mapping[str, object], row: Row) -> Trace:
    return Trace(source=row.source(), at=row.at, agent=row.agent, type=kind, raw=dump(info))


def _compacted(info: Mapping[str, object], row: Row) -> Notice:
    told = "The conversation is compacted: the model goes on with this summary."
    return row.notice(Topic.COMPACTION, told, dump(info))


def _changes(diffs: list[object], row: Row) -> Notice:
    names = ", ".join(text(mapping(diff).get("file")) for diff in diffs)
    return row.notice(Topic.NOTE, f"Files changed by the end of this turn: {names}", dump(diffs))


def _model(told: Mapping[str, object]) -> str:
    return text(told.get("modelID")) or text(told.get("id"))


def _effort(told: Mapping[str, object]) -> str:
    variant = text(told.get("variant"))
    return "" if variant == "default" else variant
