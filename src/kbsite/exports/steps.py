"""The steps of one agent, grouped as ATIF groups them: what the model did in one go.

A step of the model holds thoughts, then text, then calls with their results, in that order; each
may be missing. A new one begins

* after anything that is not the model's: a message to it, a notice, a result without a call;
* where the order would be broken: a thought or text after a call, a thought after text;
* after the place that carries a token count, which ends a message of the model;
* at a call that was made after the result of an earlier call of the step had come.

So a message of the model that thinks again between two calls is two steps, with its token count on
the last one, and nothing is put in another order than it happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from kbsite.model.event import (
    Event,
    Message,
    Notice,
    Role,
    Thought,
    ToolCall,
    ToolResult,
)
from kbsite.model.transcript import Step
from kbsite.model.usage import Usage, total

_Place = tuple[int, int]
"""A line of a file, and a part of it."""


class Turn(Struct):
    """What the model did in one go."""

    items: list[Step] = field(default_factory=list)
    """Thoughts, messages of the model and calls; none where only tokens were counted."""
    usage: Usage = field(default_factory=Usage)
    _answered: dict[str, _Place] = field(default_factory=dict)
    """Where the first result of its calls came, by file."""

    def add(self, step: Step) -> None:
        """What the model did next."""
        self.items.append(step)
        if step.result is not None:
            came = step.result.source
            first = self._answered.get(came.file, (came.line, came.part))
            self._answered[came.file] = min(first, (came.line, came.part))

    def goes_on(self, step: Step, rank: int) -> bool:
        """Whether a step of the model belongs to it, too."""
        last = _rank(self.items[-1].event)
        if last is None or rank < last:
            return False
        place = step.event.source
        return self._answered.get(place.file, (place.line, place.part)) >= (place.line, place.part)

    @property
    def thoughts(self) -> list[Thought]:
        """Its thoughts."""
        return [step.event for step in self.items if isinstance(step.event, Thought)]

    @property
    def messages(self) -> list[Message]:
        """Its texts."""
        return [step.event for step in self.items if isinstance(step.event, Message)]

    @property
    def calls(self) -> list[Step]:
        """Its calls, with their results."""
        return [step for step in self.items if isinstance(step.event, ToolCall)]


Group = Turn | Step
"""A turn of the model, or a step that is not the model's."""


def groups(steps: Sequence[Step]) -> Iterator[Group]:
    """What an agent's trajectory tells, in order; bookkeeping is left out."""
    turn = Turn()
    for step in steps:
        rank = _rank(step.event)
        if rank is not None:
            if turn.items and not turn.goes_on(step, rank):
                yield turn
                turn = Turn()
            turn.add(step)
        elif _told(step.event):
            if turn.items:
                yield turn
            turn = Turn()
            yield step
        if step.usage.known:
            turn.usage = total([turn.usage, step.usage])
            yield turn
            turn = Turn()
    if turn.items:
        yield turn


def _rank(event: Event) -> int | None:
    """Where an event stands in a step of the model; None if it is not the model's."""
    match event:
        case Thought():
            return 0
        case Message(role=Role.ASSISTANT, injected=False):
            return 1
        case ToolCall():
            return 2
        case _:
            return None


def _told(event: Event) -> bool:
    """Whether an event that is not the model's has a step of its own."""
    return isinstance(event, Message | Notice | ToolResult)
