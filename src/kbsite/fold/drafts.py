"""Steps while their results, diffs and sub-agents may still come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol, cast

from msgspec import Struct, field

from kbsite.fold.aside import Aside, Place, Places
from kbsite.fold.steps_aside import Steps, Told
from kbsite.model.event import AnyEvent, Event, ToolResult
from kbsite.model.transcript import AgentLog, FileDiff, Step
from kbsite.model.usage import Usage


class Draft(Struct):
    """A step while its result, diffs and sub-agents may still come."""

    event: Event
    anchor: str
    result: ToolResult | None = None
    result_anchor: str = ""
    diffs: list[FileDiff] = field(default_factory=list)
    before: tuple[str | None, ...] = ()
    """What its diffs were taken against, until its result comes."""
    gone: bool = False
    """Whether it turned out to be the result of a later call, and is shown there."""

    def step(self, first: datetime | None, agents: tuple[AgentLog, ...], usage: Usage) -> Step:
        """The step, with the sub-agents that it started; `first` is when the session began."""
        at = self.event.at
        return Step(
            event=cast("AnyEvent", self.event),
            anchor=self.anchor,
            elapsed=(at - first).total_seconds() if at and first else None,
            result=self.result,
            result_anchor=self.result_anchor,
            diffs=tuple(self.diffs),
            agents=agents,
            usage=usage,
        )


class Drafts(Protocol):
    """The drafts of an agent in their order, each known by its number from then on."""

    def append(self, draft: Draft, /) -> None:
        """Take one more."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __getitem__(self, number: int, /) -> Draft:
        """One of them; what is changed of one that is settled has to be settled again."""
        ...

    def __iter__(self) -> Iterator[Draft]:
        """All of them."""
        ...

    def settle(self, number: int, draft: Draft) -> None:
        """Take it that nothing is known that could still change a draft."""

    def steps(self, come: Iterable[tuple[int, Step]]) -> Sequence[Step]:
        """What drafts have come to, as it is kept: the numbers of drafts with their steps."""
        ...


class DraftsHeld(list[Draft]):
    """Drafts that are all in memory."""

    def settle(self, number: int, draft: Draft) -> None:
        """Nothing is to be done."""

    def steps(self, come: Iterable[tuple[int, Step]]) -> Sequence[Step]:
        """The steps."""
        return [step for _, step in come]


class DraftsAside:
    """Drafts of which the settled ones lie in a file; what cannot be put there stays."""

    def __init__(self, aside: Aside[Told]) -> None:
        self._aside = aside
        self._places = Places()
        self._held: dict[int, Draft] = {}

    def append(self, draft: Draft, /) -> None:
        """Take one more."""
        self._held[len(self)] = draft
        self._places.append(None)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def __getitem__(self, number: int, /) -> Draft:
        """One of them; of one that lies in the file, a copy."""
        held, place = self._held.get(number), self._places[number]
        if held is not None or place is None:
            return self._held[number]
        told = self._aside.at(place)
        return Draft(told.event, told.anchor, told.result, told.result_anchor, [*told.diffs])

    def __iter__(self) -> Iterator[Draft]:
        """All of them, one in memory at a time."""
        return (self[number] for number in range(len(self)))

    def settle(self, number: int, draft: Draft) -> None:
        """Put a draft into the file."""
        event = cast("AnyEvent", draft.event)
        told = Told(event, draft.result, tuple(draft.diffs), draft.anchor, draft.result_anchor)
        place = self._places[number] = self._aside.put(told)
        if place is None:
            self._held[number] = draft
        else:
            self._held.pop(number, None)

    def steps(self, come: Iterable[tuple[int, Step]]) -> Sequence[Step]:
        """The steps, each read from the file when it is asked for."""
        return Steps(self._aside, ((self._place(number), step) for number, step in come))

    def _place(self, number: int) -> Place | None:
        if number in self._held:
            # A call that nothing came back from, or a result that no call asked for.
            self.settle(number, self._held[number])
        return self._places[number]
