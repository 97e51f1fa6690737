"""Model calls of a sample: what was sent, what came back, what it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime

from msgspec import Struct, field

from kbsite.harnesses.inspect import archive
from kbsite.harnesses.inspect.counts import of_call
from kbsite.harnesses.inspect.messages import Attachments
from kbsite.harnesses.inspect.parts import Ranges, Unseen, ranges
from kbsite.harnesses.lines import mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import Scope, TokenUse
from kbsite.model.usage import Usage

Held = Mapping[str, object]

LOOKED_UP = 2_000_000
"""Messages that are looked up in the pool of a sample. A call that goes on with what the one before
it sent looks up what it adds; few bytes can name any number of others."""
_EACH = 64
"""Signs that a message counts for beside its texts."""
_BELOW = "\n\n"


class Sent(Struct, frozen=True):
    """A message that was sent to a model, or that came back."""

    value: Held
    id: str
    key: str
    """What it says: the same of two that say the same in the same place."""
    size: int
    """Signs of its texts."""
    lent: int
    """How many of them it has by reference."""
    result_of: str = ""
    """The id of the call whose result it is."""

    @property
    def texts(self) -> list[str]:
        """The texts in it."""
        content = self.value.get("content")
        parts = content if isinstance(content, list) else [content]
        told = (text(mapping(part).get("text", "")) or part for part in parts)
        return [one for one in told if isinstance(one, str) and one]

    def replaces(self, other: Sent) -> bool:
        """Whether this was changed to the other, which says nothing more.

        Agents that submit an answer take the call out of the message and put the answer there.
        """
        if self.key == other.key:
            return False
        if other.value.get("tool_calls"):
            return False
        own = {*self.texts}
        calls = map(mapping, sequence(self.value.get("tool_calls")))
        given = {text(a) for call in calls for a in mapping(call.get("arguments")).values()}
        lengths = {len(one) for one in own}
        return all(
            told in own or told in given or _joined(told, own, given, lengths)
            for told in other.texts
        )


class Answer(Struct, frozen=True):
    """What a model event tells of the message that came of it."""

    said: Sent
    at: datetime | None
    usage: Usage
    cost_usd: float | None
    model: str
    theirs: bool
    """Whether it is a sub-agent's."""

    def use(self, row: Row, message_id: str) -> TokenUse:
        """The tokens of the message."""
        return row.event(
            TokenUse,
            usage=self.usage,
            scope=Scope.MESSAGE,
            message_id=message_id,
            model=self.model,
            cost_usd=self.cost_usd,
        )


def _joined(told: str, own: Set[str], given: Set[str], lengths: Set[int]) -> bool:
    """Whether a text is one of those a message has, and below it one that a call was given.

    Few lengths are looked at where each text could be put before each other one.
    """
    return any(
        told.startswith(_BELOW, length)
        and told[:length] in own
        and told[length + len(_BELOW) :] in given
        for length in lengths
    )


class Calls(Struct):
    """Reads model events, whose messages may stand in a pool of the sample."""

    pool: Sequence[object]
    attachments: Attachments
    pooled: dict[int, Sent] = field(default_factory=dict)
    left: int = field(default_factory=lambda: LOOKED_UP)
    """How many messages may still be looked up."""

    room: int = field(default_factory=lambda: archive.MEMBER_BYTES)
    """How much of what was sent may still be shown: a pool's message may be sent ever again."""

    def fits(self, told: Sent) -> bool:
        """Whether a message may be shown, which then takes its room."""
        self.room -= told.size + _EACH
        return self.room > 0

    def takes(self, number: int) -> bool:
        """Whether as many messages may be looked up, which then are."""
        if number > self.left:
            self.left = 0
            return False
        self.left -= number
        return True

    def left_out(self) -> str:
        """What is not told of what was sent; nothing, but for samples that are made for that."""
        told = []
        if not self.left or self.room <= 0:
            most = f"{LOOKED_UP} messages are looked up, and {archive.MEMBER_BYTES} signs shown"
            told.append(f"Of what model calls sent, only {most}.")
        if self.attachments.spent:
            most = f"{archive.MEMBER_BYTES} signs of them are put in the place of references"
            told.append(f"Of texts that stand apart from messages, only {most}.")
        return " ".join(told)

    def sent(self, event: Held, unseen: Unseen | None = None) -> Iterator[Sent]:
        """The messages that a call sent; of those in the pool only what is `unseen`, if asked."""
        held = sequence(event.get("input"))
        if held:
            yield from map(self.message, held)
            return
        for first, last in self.refs(event):
            yield from self._in_pool(unseen.within(first, last) if unseen else range(first, last))

    def refs(self, event: Held) -> Ranges:
        """What of the pool a call sent; nothing where its messages stand in the event."""
        if sequence(event.get("input")):
            return []
        return [*ranges(len(self.pool), event.get("input_refs"))]

    def sent_beyond(self, event: Held, more: Ranges) -> Iterator[Sent]:
        """The messages that a call sent, of those in the pool only those of some ranges."""
        yield from map(self.message, sequence(event.get("input")))
        for first, last in more:
            yield from self._in_pool(range(first, last))

    def _in_pool(self, which: Iterable[int]) -> Iterator[Sent]:
        for index in which:
            if not self.takes(1):
                return
            found = self.pooled.get(index)
            if found is None:
                found = self.pooled[index] = self.message(self.pool[index])
            yield found

    def results(self, event: Held, unseen: Unseen) -> set[str]:
        """Ids of the calls whose results a call sent, of those in the pool only of the `unseen`."""
        held = sequence(event.get("input"))
        found = {_result_of(mapping(item)) for item in held}
        for first, last in self.refs(event):
            for index in unseen.within(first, last):
                if not self.takes(1):
                    break
                found.add(_result_of(mapping(self.pool[index])))
        return found - {""}

    def answers(self, event: Held) -> Iterator[Sent]:
        """The messages that came back."""
        for item in sequence(mapping(event.get("output")).get("choices")):
            yield self.message(mapping(item).get("message"))

    def told(self, event: Held, *, theirs: bool = False) -> list[Answer]:
        """The messages that came back, with what they took: the tokens are those of the first."""
        found = []
        usage, cost = tokens(event)
        for said in self.answers(event):
            model = text(event.get("model"))
            found.append(Answer(said, ended(event), usage, cost, model, theirs))
            usage, cost = Usage(), None
        return found

    def message(self, item: object) -> Sent:
        """A message with its long texts in place."""
        before = self.attachments.lent
        held = mapping(self.attachments.resolved(item))
        lent = self.attachments.lent - before
        keys = ("role", "content", "tool_calls", "tool_call_id")
        said, size = self.attachments.digest([mapping(item).get(key) for key in keys])
        return Sent(held, text(held.get("id")), said, size, lent, _result_of(held))


def _result_of(message: Held) -> str:
    return text(message.get("tool_call_id")) if message.get("role") == "tool" else ""


def tokens(event: Held) -> tuple[Usage, float | None]:
    """What a model event tells of tokens and cost."""
    return of_call(mapping(mapping(event.get("output")).get("usage")))


def ended(event: Held) -> datetime | None:
    """When a model event's answer came."""
    return timestamp(event.get("completed")) or timestamp(event.get("timestamp"))
