"""Where what happens to a sample stands within its conversation, whose messages tell no times.

A message has the moment of the model call that it came of, or of the tool that it is the result of;
all others that of the message before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kbsite.harnesses.inspect.calls import Sent
from kbsite.harnesses.lines import text
from kbsite.model.event import Event


class Moments(Struct):
    """Which event of a sample, by its number, told first of a message."""

    answers: dict[str, int] = field(default_factory=dict)
    """By the id of the message that came of a model call."""
    results: dict[str, int] = field(default_factory=dict)
    """By the id of the call whose result a message is."""

    def see(self, number: int, event: Mapping[str, object], answers: Iterable[Sent]) -> None:
        """Take in the next event, with what came back if it is a model's."""
        for said in answers:
            if said.id:
                self.answers.setdefault(said.id, number)
        if event.get("event") == "tool":
            self.results.setdefault(text(event.get("id")), number)

    def of(self, told: Sent, before: int) -> int:
        """When a message was told, no earlier than the one before."""
        own = self.answers.get(told.id) if told.id else None
        if told.result_of:
            own = self.results.get(told.result_of, own)
        return before if own is None else max(before, own)


class Turn(Struct, frozen=True):
    """A message of the conversation, and the event that told of it; -1 for none."""

    at: int
    events: tuple[Event, ...]


def in_order(turns: Sequence[Turn], notices: Iterable[tuple[int, Event]]) -> Iterator[Event]:
    """A conversation with notices between its messages, each with the number of its event."""
    turn = 0
    for number, notice in notices:
        while turn < len(turns) and turns[turn].at <= number:
            yield from turns[turn].events
            turn += 1
        yield notice
    for rest in turns[turn:]:
        yield from rest.events
