"""One sample of a log: its conversation, and what happened while it was held.

The conversation is told by the sample's messages. Its events tell all of it again and more: shown
of them are errors, limits and notes, what sub-agents said and did, and model calls that are no
part of any conversation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from kbsite.harnesses.inspect.agents import ATTEMPT, BESIDE, SubAgent, sub_agents
from kbsite.harnesses.inspect.calls import Answer, Calls, Sent, ended, tokens
from kbsite.harnesses.inspect.counts import cost, usage
from kbsite.harnesses.inspect.heard import Heard
from kbsite.harnesses.inspect.messages import Attachments, Happened, call_time, message
from kbsite.harnesses.inspect.moments import Moments, Turn, in_order
from kbsite.harnesses.inspect.parts import Unseen
from kbsite.harnesses.inspect.wording import KNOWN, topic_of, wording
from kbsite.harnesses.lines import dump, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import (
    AgentStart,
    Event,
    Message,
    Notice,
    Role,
    Scope,
    TokenUse,
    ToolCall,
    ToolKind,
    Topic,
    Trace,
)
from kbsite.model.usage import total, without

Held = Mapping[str, object]
NextRow = Callable[[Held, str], Row]
"""Makes what comes next in a file a row of an agent."""

_APART = frozenset({
    "messages", "events", "attachments", "transcript", "scores", "events_data", "error_retries",
})  # fmt: skip


class _Told(Struct, frozen=True):
    """One of the sample's events."""

    row: Row
    owner: SubAgent | None
    """The sub-agent whose it is."""
    topic: Topic | None
    """What it is about, if it tells a reader something."""


@dataclass(slots=True)
class Sample:
    """A sample while it is read."""

    value: Held
    agent: str
    next_row: NextRow
    attachments: Attachments = field(init=False)
    model: Calls = field(init=False)
    owners: dict[str, SubAgent] = field(init=False)
    """The sub-agents, by the ids of the spans that are theirs."""
    starters: set[str] = field(init=False)
    """Ids of the calls that started them."""
    known: set[str] = field(default_factory=set)
    """What was shown of the conversation and beside it, so that events do not show it again."""
    heard: dict[str, Heard] = field(default_factory=dict)
    """By sub-agent."""
    answered: dict[str, set[str]] = field(default_factory=dict)
    """Ids of calls whose results stand in messages, by agent."""
    asked: set[str] = field(default_factory=set)
    """Ids of the calls of the conversation."""
    spoken: set[str] = field(default_factory=set)
    """The agents whose model has said something."""
    times: Mapping[str, Happened] = field(init=False)
    """When calls ended, by their ids."""
    beside: Unseen = field(default_factory=Unseen)
    """What of the pool no call that is part of no conversation sent so far."""
    begun: set[str] = field(default_factory=set)
    """What stands beside the conversation and has been named."""

    def __post_init__(self) -> None:
        old = mapping(self.value.get("transcript"))
        texts = {**mapping(old.get("content")), **mapping(self.value.get("attachments"))}
        self.attachments = Attachments(texts)
        pool = sequence(mapping(self.value.get("events_data")).get("messages"))
        self.model = Calls(pool, self.attachments)
        self.owners = sub_agents(self._happenings(), self.agent)
        self.starters = {owner.call_id for owner in self.owners.values()} - {""}
        self.times = _calls(self._happenings())

    def events(self) -> Iterator[Event]:
        """The events of the sample."""
        happenings = self._happenings()
        yield from self._head(happenings)
        yield from self._tried_before()
        turns = [*self._conversation(happenings)]
        self._note_results(happenings)
        own = [self._happened(event) for event in map(mapping, happenings)]
        yield from in_order(turns, self._notices(own))
        for one, item in zip(own, happenings, strict=True):
            if one.owner or not one.topic:
                yield from one.row.told(self._happening(one, item), "event")
        if left := self.model.left_out():
            yield self._row({}).notice(Topic.NOTE, left)
        yield from self._scores()
        yield from self._rest()

    def _row(self, value: Held) -> Row:
        return self.next_row(value, self.agent)

    def _happened(self, event: Held) -> _Told:
        owner = self.owners.get(text(event.get("span_id")))
        row = self.next_row(event, owner.id if owner else self.agent)
        return _Told(replace(row, at=timestamp(event.get("timestamp"))), owner, topic_of(row.value))

    def _notices(self, own: Sequence[_Told]) -> Iterator[tuple[int, Event]]:
        """What the sample's own events tell a reader, each with the number of its event."""
        for number, one in enumerate(own):
            row = one.row
            if one.owner:
                continue
            if one.topic:
                yield number, row.notice(one.topic, wording(row.value, self.attachments))
            elif row.value.get("event") == "model" and row.value.get("error"):
                yield number, row.notice(Topic.ERROR, row.text("error"))

    def _conversation(self, happenings: list[object]) -> Iterator[Turn]:
        answers, moments = self._answers(happenings)
        at = -1
        for item in sequence(self.value.get("messages")):
            told = self.model.message(item)
            at = moments.of(told, at)
            yield Turn(at, tuple(self._turn(item, told, answers.get(told.id))))

    def _turn(self, item: object, told: Sent, came: Answer | None) -> Iterator[Event]:
        """A message of the conversation, with what came of the model where it `came` of one."""
        shown = told.value if self.attachments.fit(told.lent) else mapping(item)
        row = replace(self._row(shown), at=came.at if came else None)
        self._note(told)
        if came is None or came.theirs:
            yield from self._message(row, item)
            return
        if came.said.key != told.key:
            # An agent changed what the model had said, such as one that submits an answer.
            self._note(came.said)
            yield from self._said(row, came.said)
        if not came.said.replaces(told):
            yield from self._message(row, item)
        if came.usage.known:
            yield came.use(row, told.id)

    def _answers(self, happenings: list[object]) -> tuple[dict[str, Answer], Moments]:
        """What model events tell of their answers, by the answers' ids, and when that was."""
        found: dict[str, Answer] = {}
        moments = Moments()
        for number, event in enumerate(map(mapping, happenings)):
            told: list[Answer] = []
            if event.get("event") == "model":
                theirs = text(event.get("span_id")) in self.owners
                told = self.model.told(event, theirs=theirs)
                found.update((one.said.id, one) for one in told if one.said.id)
            moments.see(number, event, (one.said for one in told))
        return found, moments

    def _message(self, row: Row, item: object) -> Iterator[Event]:
        if row.value:
            yield from row.told(self._told(row), "message")
        else:
            yield row.unknown("message", item)

    def _note(self, told: Sent) -> None:
        """Take down what the conversation says, so that events do not say it again."""
        self.known.update({told.key, told.id} if told.id else {told.key})
        self.asked.update(
            text(mapping(call).get("id")) for call in sequence(told.value.get("tool_calls"))
        )
        if told.result_of:
            self.answered.setdefault(self.agent, set()).add(told.result_of)

    def _note_results(self, happenings: list[object]) -> None:
        """Take down which results stand in what sub-agents' model calls sent."""
        unseen = defaultdict[str, Unseen](Unseen)
        for event in map(mapping, happenings):
            owner = self.owners.get(text(event.get("span_id")))
            if owner and event.get("event") == "model":
                found = self.model.results(event, unseen[owner.id])
                self.answered.setdefault(owner.id, set()).update(found)

    def _happenings(self) -> list[object]:
        old = mapping(self.value.get("transcript")).get("events")
        return sequence(self.value.get("events")) or sequence(old)

    def _head(self, happenings: list[object]) -> Iterator[Event]:
        row = self._row({key: value for key, value in self.value.items() if key not in _APART})
        told = f"Sample {text(self.value.get('id'))}, epoch {text(self.value.get('epoch'))}"
        if self.agent:
            yield row.event(AgentStart, agent="", child=self.agent, title=told)
        yield row.notice(Topic.NOTE, told)
        yield from self._used(row, happenings)
        error = self.value.get("error")
        if error and not any(mapping(item).get("event") == "error" for item in happenings):
            yield row.notice(Topic.ERROR, text(mapping(error).get("message", error)))

    def _used(self, row: Row, happenings: list[object]) -> Iterator[Event]:
        """What the sample used; its count is of all of it, and what sub-agents used is theirs."""
        counted = usage(self.value.get("model_usage"))
        if not counted.known:
            return
        calls = (mapping(item) for item in happenings)
        theirs = [
            tokens(event)
            for event in calls
            if event.get("event") == "model" and text(event.get("span_id")) in self.owners
        ]
        left = without(counted, total(used for used, _ in theirs))
        spent = cost(self.value.get("model_usage"))
        if spent is not None:
            spent = max(spent - sum(paid or 0 for _, paid in theirs), 0.0)
        yield row.event(TokenUse, usage=left, scope=Scope.AGENT, cost_usd=spent)

    def _tried_before(self) -> Iterator[Event]:
        """What went wrong before the sample was tried again, from its last model call on."""
        for number, item in enumerate(sequence(self.value.get("error_retries")), start=1):
            retry = mapping(item)
            row = self._row({key: held for key, held in retry.items() if key != "events"})
            told = text(retry.get("message", item))
            yield row.notice(Topic.RETRY, f"Attempt {number} failed and was repeated: {told}")
            if _asked_a_model(retry):
                # The sample's own count is that of its last attempt.
                yield row.uncounted()
            for happened in sequence(retry.get("events")):
                event = mapping(happened)
                row = replace(self._row(event), at=timestamp(event.get("timestamp")))
                if event.get("event") == "model":
                    yield row.trace("model")
                    yield from self._aside(row, f"{ATTEMPT}{number}", f"Attempt {number}")
                else:
                    one = _Told(row, None, topic_of(event))
                    yield from row.told(self._happening(one, happened), "event")

    def _happening(self, one: _Told, item: object) -> Iterator[Event]:
        row, owner = one.row, one.owner
        kind = text(row.value.get("event"))
        if kind == "model":
            yield row.trace(kind)
            yield from self._model_call(row, owner)
        elif kind == "tool":
            yield row.trace(kind)
            yield from self._tool(row, owner)
        elif kind == "span_begin":
            yield from self._span(row)
            yield row.trace(kind)
        elif one.topic:
            yield row.notice(one.topic, wording(row.value, self.attachments))
        elif kind in KNOWN:
            yield row.trace(kind)
        else:
            yield row.unknown(f"event:{kind}", item)

    def _span(self, row: Row) -> Iterator[Event]:
        """The start of a sub-agent, where a span is one."""
        span = text(row.value.get("id"))
        owner = self.owners.get(span)
        if owner and owner.span == span:
            yield row.event(
                AgentStart,
                agent=owner.parent,
                child=owner.id,
                call_id=owner.call_id,
                title=owner.name,
            )

    def _tool(self, row: Row, owner: SubAgent | None) -> Iterator[Event]:
        """The result of a call that no message tells."""
        call_id = text(row.value.get("id"))
        mine = owner is not None or call_id in self.asked
        if mine and call_id and call_id not in self.answered.setdefault(row.agent, set()):
            self.answered[row.agent].add(call_id)
            result, error = row.value.get("result"), row.value.get("error")
            if result or error or row.value.get("completed"):
                held = {"role": "tool", "tool_call_id": call_id, "content": result, "error": error}
                said = replace(row, value=mapping(self.attachments.placed(held)), written=None)
                yield from message(said, {call_id: call_time(row.value)})

    def _model_call(self, row: Row, owner: SubAgent | None) -> Iterator[Event]:
        """What a model call sent and got that was not shown yet."""
        if owner:
            yield from self._heard(row, owner)
        else:
            yield from self._aside(row, BESIDE, "Model calls " + BESIDE)
        if owner and row.value.get("error"):
            yield row.notice(Topic.ERROR, text(row.value["error"]))

    def _heard(self, row: Row, owner: SubAgent) -> Iterator[Event]:
        """A model call of a sub-agent: what was not sent before, and what came back."""
        heard = self.heard.get(owner.id)
        if heard is None:
            heard = self.heard[owner.id] = Heard()
            if owner.handed:
                heard.says.update(self._before(owner, row.value))
        more = heard.beyond(self.model.refs(row.value))
        for told in self.model.sent_beyond(row.value, more):
            if told.value and not heard.again(told):
                yield from self._said(row, told)
        for came in self.model.told(row.value):
            if came.said.value:
                heard.says[came.said.key] += 1
                heard.ids.add(came.said.id)
                yield from self._said(replace(row, at=came.at), came.said)
            if came.usage.known:
                yield came.use(replace(row, at=came.at), f"{row.place.file} call {row.place.line}")

    def _before(self, owner: SubAgent, event: Held) -> Counter[str]:
        """What of a model call's messages the conversation says from which it was handed over."""
        parent = self.heard.get(owner.parent)
        if parent:
            return Counter(parent.says) if self.model.takes(len(parent.says)) else Counter()
        return Counter(t.key for t in self.model.sent(event) if t.key in self.known)

    def _said(self, row: Row, told: Sent) -> Iterator[Event]:
        if self.model.fits(told):
            yield from self._told(replace(row, value=told.value, written=None))

    def _told(self, row: Row) -> Iterator[Event]:
        """The events of a message; a call that started a sub-agent is one of that kind."""
        put_in = row.agent in self.spoken and row.value.get("source") != "input"
        if row.value.get("role") == "assistant":
            self.spoken.add(row.agent)
        for event in message(row, self.times):
            if put_in and isinstance(event, Message) and event.role is Role.USER:
                # Nobody but the solver speaks to a model that is at work.
                yield replace(event, injected=True)
            elif isinstance(event, ToolCall) and event.call_id in self.starters:
                yield replace(event, tool_kind=ToolKind.AGENT)
            else:
                yield event

    def _aside(self, row: Row, name: str, title: str) -> Iterator[Event]:
        """What a model call said that is part of no conversation."""
        sent = self.model.sent(row.value, self.beside)
        fresh = [told for told in sent if self._is_new(told)]
        answers = [
            told for told in self.model.answers(row.value) if self._is_new(told, answer=True)
        ]
        agent = f"{self.agent} {name}".strip()
        if (fresh or answers) and name not in self.begun:
            self.begun.add(name)
            yield row.event(AgentStart, child=agent, title=title)
        for told in fresh:
            yield from self._said(replace(row, agent=agent), told)
        for told in answers:
            yield from self._said(replace(row, agent=agent, at=ended(row.value)), told)

    def _is_new(self, told: Sent, *, answer: bool = False) -> bool:
        """Whether a message was not shown; every answer of a model that has an id is one."""
        if not told.value or (told.id and told.id in self.known):
            return False
        if told.key in self.known and not (answer and told.id):
            return False
        self.known.update({told.key, told.id} if told.id else {told.key})
        return True

    def _scores(self) -> Iterator[Event]:
        for name, score in mapping(self.value.get("scores")).items():
            held = mapping(self.attachments.placed(score))
            told = [f"Score {name}: {text(held.get('value'))}", text(held.get("explanation"))]
            row = self._row(held)
            text_ = "\n".join(filter(None, told))
            yield row.event(Notice, topic=Topic.NOTE, text=text_, raw=dump(score))

    def _rest(self) -> Iterator[Event]:
        """Attachments that only events refer to."""
        left = {k: v for k, v in self.attachments.texts.items() if k not in self.attachments.used}
        if left:
            yield self._row(left).event(Trace, type="attachments", raw=dump(left))


def _calls(happenings: list[object]) -> dict[str, Happened]:
    tools = (event for item in happenings if (event := mapping(item)).get("event") == "tool")
    return {text(event.get("id")): call_time(event) for event in tools}


def _asked_a_model(retry: Held) -> bool:
    """Whether an attempt may have used tokens: older logs tell nothing of what happened in it."""
    events = retry.get("events")
    told = (mapping(event).get("event") for event in sequence(events))
    return not isinstance(events, list) or "model" in told
