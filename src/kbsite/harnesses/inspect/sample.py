"""One sample of a log: its conversation, and what happened while it was held.

The conversation is told by the sample's messages. Its events tell all of it again and more: shown
of them are errors, limits and notes, and model calls that are no part of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from kbsite.harnesses.inspect.counts import usage
from kbsite.harnesses.inspect.messages import Attachments, Happened, call_time, message, trace
from kbsite.harnesses.lines import dump, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import AgentStart, Event, Notice, Scope, TokenUse, Topic, Trace

Held = Mapping[str, object]
NextRow = Callable[[Held, str], Row]
"""Makes what comes next in a file a row of an agent."""

BESIDE = "beside the conversation"
"""Stands for model calls that are no part of a sample's messages, such as those of a scorer."""
_APART = frozenset({"messages", "events", "attachments", "transcript", "scores"})
_SILENT = frozenset({
    "anchor", "approval", "branch", "checkpoint", "logger", "sample_init", "sandbox", "score",
    "score_edit", "span_begin", "span_end", "state", "step", "store", "subtask", "tool",
})  # fmt: skip
_TOPICS = {
    "compaction": Topic.COMPACTION,
    "error": Topic.ERROR,
    "info": Topic.NOTE,
    "input": Topic.NOTE,
    "interrupt": Topic.INTERRUPTION,
    "sample_limit": Topic.INTERRUPTION,
}
_WORDING = ("message", "input", "summary", "data", "score", "limit")


@dataclass(slots=True)
class Sample:
    """A sample while it is read."""

    value: Held
    agent: str
    next_row: NextRow
    attachments: Attachments = field(init=False)
    known: set[str] = field(default_factory=set)
    """What was shown, so that events do not show it again."""
    beside: bool = False

    def __post_init__(self) -> None:
        old = mapping(self.value.get("transcript"))
        texts = {**mapping(old.get("content")), **mapping(self.value.get("attachments"))}
        self.attachments = Attachments(texts)

    def events(self) -> Iterator[Event]:
        """The events of the sample."""
        yield from self._head()
        happenings = self._happenings()
        calls, times = _calls(happenings), _times(happenings)
        for item in sequence(self.value.get("messages")):
            held = mapping(self.attachments.resolved(item))
            row = replace(self._row(held), at=times.get(text(held.get("id"))))
            self.known.update(_keys(held))
            yield from self._message(row, item, calls)
        for item in happenings:
            event = mapping(item)
            row = replace(self._row(event), at=timestamp(event.get("timestamp")))
            yield from row.told(self._happening(row, item), "event")
        yield from self._scores()
        yield from self._rest()

    def _row(self, value: Held) -> Row:
        return self.next_row(value, self.agent)

    def _message(self, row: Row, item: object, calls: Mapping[str, Happened]) -> Iterator[Event]:
        if row.value:
            yield from row.told(message(row, calls), "message")
        else:
            yield row.unknown("message", item)

    def _happenings(self) -> list[object]:
        old = mapping(self.value.get("transcript")).get("events")
        return sequence(self.value.get("events")) or sequence(old)

    def _head(self) -> Iterator[Event]:
        row = self._row({key: value for key, value in self.value.items() if key not in _APART})
        told = f"Sample {text(self.value.get('id'))}, epoch {text(self.value.get('epoch'))}"
        if self.agent:
            yield row.event(AgentStart, agent="", child=self.agent, title=told)
        yield row.notice(Topic.NOTE, told)
        counted = usage(self.value.get("model_usage"))
        if counted.known:
            yield row.event(TokenUse, usage=counted, scope=Scope.AGENT)
        if self.value.get("error"):
            error = self.value["error"]
            yield row.notice(Topic.ERROR, text(mapping(error).get("message", error)))

    def _happening(self, row: Row, item: object) -> Iterator[Event]:
        kind = text(row.value.get("event"))
        if kind == "model":
            yield trace(row, kind)
            yield from self._model_call(row)
        elif kind == "score" and row.value.get("intermediate") is True:
            yield row.notice(Topic.NOTE, self._wording(row.value))
        elif kind in _TOPICS:
            yield row.notice(_TOPICS[kind], self._wording(row.value))
        elif kind in _SILENT:
            yield trace(row, kind)
        else:
            yield row.unknown(f"event:{kind}", item)

    def _wording(self, event: Held) -> str:
        told = next((event[key] for key in _WORDING if event.get(key)), None)
        held = self.attachments.resolved(told)
        return text(mapping(held).get("message", held))

    def _model_call(self, row: Row) -> Iterator[Event]:
        """What a model call sent and got that was not shown yet."""
        output = mapping(row.value.get("output"))
        choices = [mapping(item).get("message") for item in sequence(output.get("choices"))]
        for item in [*sequence(row.value.get("input")), *choices]:
            held = mapping(self.attachments.resolved(item))
            if not held or (held.get("id") and text(held["id"]) in self.known):
                continue
            keys = _keys(held)
            if keys & self.known:
                continue
            self.known |= keys
            agent = f"{self.agent} {BESIDE}".strip()
            if not self.beside:
                self.beside = True
                yield row.event(AgentStart, child=agent, title="Model calls " + BESIDE)
            said = replace(row, value=held, written=None, agent=agent)
            yield from message(said, {})
        if row.value.get("error"):
            yield row.notice(Topic.ERROR, text(row.value["error"]))

    def _scores(self) -> Iterator[Event]:
        for name, score in mapping(self.value.get("scores")).items():
            held = mapping(self.attachments.resolved(score))
            told = [f"Score {name}: {text(held.get('value'))}", text(held.get("explanation"))]
            row = self._row(held)
            text_ = "\n".join(filter(None, told))
            yield row.event(Notice, topic=Topic.NOTE, text=text_, raw=dump(score))

    def _rest(self) -> Iterator[Event]:
        """Attachments that only events refer to."""
        left = {k: v for k, v in self.attachments.texts.items() if k not in self.attachments.used}
        if left:
            yield self._row(left).event(Trace, type="attachments", raw=dump(left))


def _keys(held: Held) -> set[str]:
    """What tells a message apart: its id where it has one, and what it says."""
    said = dump([held.get("role"), held.get("content"), held.get("tool_calls")])
    return {said} | ({text(held["id"])} if held.get("id") else set())


def _calls(happenings: list[object]) -> dict[str, Happened]:
    tools = (event for item in happenings if (event := mapping(item)).get("event") == "tool")
    return {text(event.get("id")): call_time(event) for event in tools}


def _times(happenings: list[object]) -> dict[str, datetime | None]:
    """When messages came, by their ids."""
    found: dict[str, datetime | None] = {}
    for item in happenings:
        event = mapping(item)
        if event.get("event") != "model":
            continue
        for choice in sequence(mapping(event.get("output")).get("choices")):
            told = mapping(mapping(choice).get("message")).get("id")
            if told:
                at = timestamp(event.get("completed")) or timestamp(event.get("timestamp"))
                found[text(told)] = at
    return found
