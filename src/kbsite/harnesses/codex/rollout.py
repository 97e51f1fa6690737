"""Rollout files: what Codex keeps of each thread under `sessions/`.

Rows are `{timestamp, type, payload}`; before that (2025-08) a header and bare response items. Every
thread has a file of its own, sub-agents too: those name the thread that started them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kbsite.harnesses.codex import happenings, recognition, responses, segments
from kbsite.harnesses.codex.thread import Row, Thread, place
from kbsite.harnesses.codex.tokens import usage
from kbsite.harnesses.codex.window import Cell, Delay
from kbsite.harnesses.form import Held
from kbsite.harnesses.lines import Line, Record, mapping, records, sequence, text, timestamp
from kbsite.harnesses.tools import definitions
from kbsite.model.event import (
    Event,
    Malformed,
    Message,
    Role,
    Session,
    Source,
    Topic,
)
from kbsite.model.usage import without

_INHERITED = "It starts with a copy of what the agent that started it had seen."


def together(files: Sequence[Held]) -> Iterator[Event]:
    """What all files of a transcript say."""
    elsewhere = segments.threads(file.name for file in files)
    for file in files:
        yield from parse(file.lines(), file.name, elsewhere)


def parse(
    source_lines: Iterable[Line], file: str, elsewhere: frozenset[str] = frozenset()
) -> Iterator[Event]:
    """The events of one rollout file; `elsewhere` are the threads that files are of."""
    thread, delay, numbers = Thread(elsewhere), Delay(), _Numbers()
    for record in records(source_lines, file):
        thread.cell = Cell()
        events = _events(thread, record)
        thread.cell.events = numbers.numbered(events)
        yield from delay.push(thread.cell)
    yield from delay.flush()
    yield from thread.unanswered()


class _Numbers:
    """Counts the events of each line, over the objects that may be glued together on it."""

    def __init__(self) -> None:
        self._line = 0
        self._next = 0

    def numbered(self, events: list[Event]) -> list[Event]:
        """The events, each with a part of its own; one is left free for an unanswered call."""
        source = events[0].source
        if source.line != self._line:
            self._line, self._next = source.line, 0
        first = self._next
        self._next += len(events) + 1
        return [
            replace(event, source=Source(source.file, source.line, first + index))
            for index, event in enumerate(events)
        ]


def _events(thread: Thread, record: Record | Malformed) -> list[Event]:
    if isinstance(record, Malformed):
        return [replace(record, agent=thread.agent)]
    payload = record.value.get("payload")
    kind = text(record.value.get("type"))
    if not isinstance(payload, dict):
        return _bare(thread, _row(thread, record, kind, record.value))
    inner = text(payload.get("type"))
    if kind != "session_meta" and thread.history.holds(thread.agent, kind, record.value):
        return [_row(thread, record, f"inherited/{inner or kind}", payload).trace]
    if kind == "response_item":
        return responses.events(thread, inner, _row(thread, record, f"{kind}/{inner}", payload))
    if kind == "event_msg":
        return happenings.events(thread, inner, _row(thread, record, f"{kind}/{inner}", payload))
    if kind == "session_meta":
        _name(thread, payload)
    return _enveloped(thread, _row(thread, record, kind, payload))


def _row(thread: Thread, record: Record, kind: str, value: Mapping[str, object]) -> Row:
    at = timestamp(record.value.get("timestamp"))
    return Row(kind, value, record.written, place(record.source, at, thread.agent))


def _enveloped(thread: Thread, row: Row) -> list[Event]:
    match row.type:
        case "session_meta":
            if thread.history.begins(thread.agent, row.value):
                return [row.notice(Topic.NOTE, _INHERITED)]
            return _session(thread, row)
        case "turn_context":
            return [_turn(thread, row)]
        case "token_usage_record":
            return _response_usage(thread, row)
        case "compacted":
            thread.compactions += 1
            return [
                row.notice(Topic.COMPACTION, _compacted(thread, text(row.value.get("message"))))
            ]
        case "inter_agent_communication":
            return responses.events(thread, "agent_message", row)
        case "world_state" | "inter_agent_communication_metadata" | "security_risk_score":
            return [row.trace]
        case _:
            return [row.unknown]


def _bare(thread: Thread, row: Row) -> list[Event]:
    """The events of a row without an envelope."""
    if recognition.is_state(row.value):
        return [replace(row.trace, type="state")]
    if recognition.is_header(row.value):
        thread.named, thread.session_id = True, text(row.value.get("id"))
        return _session(thread, row)
    if row.type in responses.KNOWN:
        return responses.events(thread, row.type, row)
    return [row.unknown]


def _name(thread: Thread, payload: Mapping[str, object]) -> None:
    """Learn whose file this is, from its first session_meta: a fork copies its parent's rows."""
    if thread.named:
        return
    thread.named = True
    thread.session_id = text(payload.get("id"))
    thread.version = text(payload.get("cli_version"))
    source = payload.get("source")
    child = (
        (isinstance(source, dict) and "subagent" in source)
        or payload.get("thread_source") == "subagent"
        or bool(payload.get("parent_thread_id"))
    )
    thread.agent = thread.session_id if child else ""
    other = text(payload.get("forked_from_id"))
    if segments.begins_within(payload):
        name = "" if other else f"#{text(payload.get('timestamp'))}"
        thread.segment = segments.Segment(within=True, name=name)
    else:
        thread.forked_from = "" if child else other


def _session(thread: Thread, row: Row) -> list[Event]:
    value = row.value
    spawn = mapping(mapping(mapping(value.get("source")).get("subagent")).get("thread_spawn"))
    parent = text(value.get("parent_thread_id")) or text(spawn.get("parent_thread_id"))
    offered = sequence(value.get("dynamic_tools"))
    session = Session(
        session_id=text(value.get("id")) or thread.session_id,
        parent_session=parent,
        harness_version=text(value.get("cli_version")),
        cwd=text(value.get("cwd")),
        tools=tuple(text(mapping(tool).get("name")) for tool in offered),
        definitions=definitions(offered),
        raw=row.raw,
        **row.place,
    )
    told = value.get("base_instructions")
    base = text(mapping(told).get("text")) if isinstance(told, dict) else text(told)
    prompts = [prompt for prompt in (base, text(value.get("instructions"))) if prompt]
    within = segments.begins_within(value)
    return [
        session,
        *([row.notice(*segments.told(value))] if within else []),
        *(Message(role=Role.SYSTEM, text=body, injected=True, **row.place) for body in prompts),
    ]


def _turn(thread: Thread, row: Row) -> Session:
    thread.model = text(row.value.get("model"))
    settings = mapping(mapping(row.value.get("collaboration_mode")).get("settings"))
    return Session(
        session_id=thread.session_id,
        model=thread.model,
        effort=text(row.value.get("effort")) or text(settings.get("reasoning_effort")),
        harness_version=thread.version,
        cwd=text(row.value.get("cwd")),
        raw=row.raw,
        **row.place,
    )


def _compacted(thread: Thread, told: str) -> str:
    """What the model goes on with: its summary, unless that stands above as what it said last."""
    if not thread.said or not told.rstrip().endswith(thread.said):
        return told or "The context was compacted."
    words = told.rstrip().removesuffix(thread.said).strip()
    again = "The context was compacted: the model goes on with what it said last"
    return f"{again}, after these words:\n\n{words}" if words else f"{again}."


def _response_usage(thread: Thread, row: Row) -> list[Event]:
    """The count of one model response, and with it the thread's: the turn may end before that."""
    thread.tells_responses = True
    counts, response = mapping(row.value.get("usage")), text(row.value.get("response_id"))
    own = happenings.message(thread, row, counts, response)
    held = mapping(row.value.get("thread_token_usage"))
    if thread.segment.base is None and held:
        thread.segment.base = without(usage(held), usage(counts))
    return [*own, *happenings.total(thread, row, held)] or [row.trace]
