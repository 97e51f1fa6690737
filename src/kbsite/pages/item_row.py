"""All items of a transcript in a row, as its pages are cut from it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kbsite.model.event import (
    Finish,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    ToolCall,
    Topic,
    Trace,
)
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.on_demand import OnDemand
from kbsite.pages.pauses import with_pauses
from kbsite.pages.steps import Item

MOST_ROWS = 500
"""Rows of bookkeeping in one item: each is a place that links lead to, and pages hold few."""
LOOKED_AT = 100
"""Steps in which it is looked for whether an agent went on after a call without a result."""


class _Spot(NamedTuple):
    """Which steps an item shows."""

    log: int
    """Which agent's, in the order in which agents come."""
    first: int
    """The first of them, or the one that started a sub-agent."""
    rows: int = 0
    """How many bookkeeping rows it puts together; 0 where it is a step, or the head of an agent."""
    opens: int = -1
    """The agent whose head it is; -1 where it is none."""
    pause: float = 0.0


class _Row:
    """The items of a transcript, made of its steps when they are asked for."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._logs: list[tuple[AgentLog, int]] = []
        """The agents, each with how deep it stands."""

    def spots(self) -> Iterator[_Spot]:
        """Where the items lie, in their order; to be gone through once."""
        yield from self._of(self._take(self._transcript.main, 0))
        for log in self._transcript.unlinked:
            place = self._take(log, 1)
            yield _Spot(place, 0, opens=place)
            yield from self._of(place)

    def _take(self, log: AgentLog, depth: int) -> int:
        self._logs.append((log, depth))
        return len(self._logs) - 1

    def _of(self, place: int) -> Iterator[_Spot]:
        log, depth = self._logs[place]
        rows, paused = 0, 0.0
        for number, (step, pause) in enumerate(with_pauses(log.steps)):
            is_trace = isinstance(step.event, Trace)
            if rows and (pause or not is_trace or rows == MOST_ROWS):
                yield _Spot(place, number - rows, rows, pause=paused)
                rows = 0
            if is_trace:
                paused = paused if rows else pause
                rows += 1
                continue
            yield _Spot(place, number, pause=pause)
            for child in step.agents:
                below = self._take(child, depth + 1)
                yield _Spot(place, number, opens=below)
                yield from self._of(below)
        if rows:
            yield _Spot(place, len(log.steps) - rows, rows, pause=paused)

    def item(self, spot: _Spot) -> Item:
        """The item that lies there."""
        place, first, rows, opens, pause = spot
        log, depth = self._logs[place]
        step = log.steps[first]
        if opens >= 0:
            below, depth = self._logs[opens]
            return Item(anchor=f"agent-{step.anchor}", depth=depth, agent=below.id, opens=below)
        if rows:
            held = tuple(log.steps[first : first + rows])
            return Item(anchor=step.anchor, depth=depth, agent=log.id, rows=held, pause=pause)
        own = replace(step, agents=()) if step.agents else step
        went_on = _is_unanswered(step) and _went_on(log, first)
        return Item(
            anchor=step.anchor, depth=depth, agent=log.id, step=own, pause=pause, went_on=went_on
        )


def _is_unanswered(step: Step) -> bool:
    return isinstance(step.event, ToolCall) and step.result is None


def _went_on(log: AgentLog, number: int) -> bool:
    """Whether an agent's model speaks after a step, before the session or its turn is over.

    That it calls says nothing: it may ask for several tools at once.
    """
    line = log.steps[number].event.source.line
    for later in range(number + 1, min(len(log.steps), number + 1 + LOOKED_AT)):
        match log.steps[later].event:
            case Session() | Finish() | Notice(topic=Topic.INTERRUPTION | Topic.ERROR):
                return False
            case Message(role=Role.USER, injected=False):
                return False
            case (Thought() | Message(role=Role.ASSISTANT)) as event if event.source.line != line:
                return True
            case _:
                pass
    return False


class _Spots:
    """Where the items of a long transcript lie, in arrays."""

    def __init__(self, row: _Row) -> None:
        self._row = row
        self._logs, self._firsts = array("i"), array("i")
        self._rows, self._opens = array("i"), array("i")
        self._pauses = array("d")
        for spot in row.spots():
            self._logs.append(spot.log)
            self._firsts.append(spot.first)
            self._rows.append(spot.rows)
            self._opens.append(spot.opens)
            self._pauses.append(spot.pause)

    def __len__(self) -> int:
        return len(self._logs)

    def item(self, number: int) -> Item:
        """The item of that number, from 0."""
        log, first, rows = self._logs[number], self._firsts[number], self._rows[number]
        spot = _Spot(log, first, rows, self._opens[number], self._pauses[number])
        return self._row.item(spot)


class _Items(OnDemand[Item]):
    """Items of a long transcript, one in memory at a time."""

    def __init__(self, spots: _Spots, within: range) -> None:
        self._spots = spots
        self._within = within

    def __len__(self) -> int:
        return len(self._within)

    def made(self, number: int) -> Item:
        """One of them, by its number from 0."""
        return self._spots.item(self._within[number])

    def several(self, chosen: slice) -> Sequence[Item]:
        """Some of them, one in memory at a time as well."""
        return _Items(self._spots, self._within[chosen])


def items(transcript: Transcript) -> Sequence[Item]:
    """All items of a transcript, each agent's in its own order.

    Those of a long transcript are made whenever they are asked for.
    """
    row = _Row(transcript)
    if transcript.aside:
        spots = _Spots(row)
        return _Items(spots, range(len(spots)))
    return [row.item(spot) for spot in row.spots()]
