"""What waits for the model while it is at work: prompts, and how tasks in the background ended.

The queue has rows of its own. What is taken out of it stands in later rows again, as the model got
it; what is still in it when the log ends stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field

from kbsite.harnesses.claude.content import ended
from kbsite.harnesses.rows import Row
from kbsite.model.event import Event, Message, Topic

_MOST = 200
"""So many of what waits are kept in mind: the last ones."""
_KEPT = "It waited in the queue, and the model was never told:\n"


class _Waiting(NamedTuple):
    row: Row
    said: str


class Queue(Struct):
    """What waits, as far as it is text, and how much is in the queue."""

    waiting: list[_Waiting] = field(default_factory=list)
    length: int = 0

    def operation(self, row: Row) -> None:
        """Take in a row that puts something into the queue, or takes something out."""
        said = row.text("content")
        match row.text("operation"):
            case "enqueue":
                self.length += 1
                self.waiting = [*self.waiting[1 - _MOST :], _Waiting(row, said)]
            case "popAll":
                # Back to where a person types: it is a prompt once it is sent.
                self.length, self.waiting = 0, []
            case _:
                self.length = max(0, self.length - 1)
                self._taken(said)

    def passing(self, events: Iterator[Event]) -> Iterator[Event]:
        """The events as they come; what is among them waits no more."""
        return self._passing(events) if self.waiting else events

    def _passing(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Message):
                self._taken(event.text)
            yield event

    def _taken(self, said: str) -> None:
        for nth, one in enumerate(self.waiting):
            if said and one.said.strip() == said.strip():
                del self.waiting[nth]
                return

    def rest(self) -> Iterator[Event]:
        """What the model never got, at the end of the log."""
        for row, said in self.waiting[len(self.waiting) - min(self.length, len(self.waiting)) :]:
            if said.strip():
                yield row.notice(Topic.NOTE, f"{_KEPT}{said}")
                yield from ended(row, said)
