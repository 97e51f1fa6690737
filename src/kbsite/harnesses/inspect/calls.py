"""Model calls of a sample: what was sent, what came back, what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from kbsite.harnesses.inspect import archive
from kbsite.harnesses.inspect.counts import of_call
from kbsite.harnesses.inspect.messages import Attachments
from kbsite.harnesses.inspect.parts import indices, ranges
from kbsite.harnesses.lines import dump, mapping, sequence, text, timestamp
from kbsite.harnesses.rows import Row
from kbsite.model.event import Scope, TokenUse
from kbsite.model.usage import Usage

Held = Mapping[str, object]

LOOKED_UP = 10_000_000
"""Messages that are looked up in the pool of a sample, each for each call that sent it: a
conversation of three thousand turns has fewer. Few bytes can name any number of them."""


class Sent(Struct, frozen=True):
    """A message that was sent to a model, or that came back."""

    value: Held
    id: str
    key: str
    """What it says: the same of two that say the same in the same place."""
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
        own = self.texts
        calls = map(mapping, sequence(self.value.get("tool_calls")))
        given = [text(a) for call in calls for a in mapping(call.get("arguments")).values()]
        known = {*own, *given, *(f"{one}\n\n{more}" for one in own for more in given)}
        return known.issuperset(other.texts) and not other.value.get("tool_calls")


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
        self.room -= len(told.key)
        return self.room > 0

    def left_out(self) -> str:
        """What is not told of what was sent; nothing, but for samples that are made for that."""
        if self.left and self.room > 0:
            return ""
        most = f"{LOOKED_UP} messages are looked up, and {archive.MEMBER_BYTES} signs shown"
        return f"Of what model calls sent, only {most}."

    def sent(self, event: Held) -> Iterator[Sent]:
        """The messages that a call sent."""
        held = sequence(event.get("input"))
        if held:
            yield from map(self.message, held)
        else:
            yield from self._referred(event)

    def _referred(self, event: Held) -> Iterator[Sent]:
        for index in indices(len(self.pool), event.get("input_refs")):
            if self.left == 0:
                return
            self.left -= 1
            found = self.pooled.get(index)
            if found is None:
                found = self.pooled[index] = self.message(self.pool[index])
            yield found

    def results(self, event: Held, seen: int) -> tuple[set[str], int]:
        """Ids of the calls whose results a call sent, and how much of the pool was seen then.

        What was `seen` of it before is not looked at again.
        """
        held = sequence(event.get("input"))
        if held:
            return {_result_of(mapping(item)) for item in held} - {""}, seen
        found = set()
        for first, last in ranges(len(self.pool), event.get("input_refs")):
            for index in range(max(first, seen) if first <= seen else first, last):
                if self.left == 0:
                    break
                self.left -= 1
                found.add(_result_of(mapping(self.pool[index])))
            seen = max(seen, last) if first <= seen else seen
        return found - {""}, seen

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
        held = mapping(self.attachments.resolved(item))
        keys = ("role", "content", "tool_calls", "tool_call_id")
        said = dump([held.get(key) for key in keys])
        return Sent(held, text(held.get("id")), said, _result_of(held))


def _result_of(message: Held) -> str:
    return text(message.get("tool_call_id")) if message.get("role") == "tool" else ""


def tokens(event: Held) -> tuple[Usage, float | None]:
    """What a model event tells of tokens and cost."""
    return of_call(mapping(mapping(event.get("output")).get("usage")))


def ended(event: Held) -> datetime | None:
    """When a model event's answer came."""
    return timestamp(event.get("completed")) or timestamp(event.get("timestamp"))
