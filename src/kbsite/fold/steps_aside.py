"""Steps of long transcripts, which lie in a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import fields
from math import isnan, nan

from msgspec import Struct

from kbsite.fold.aside import Aside, Place, Places
from kbsite.model.event import AnyEvent, ToolResult
from kbsite.model.transcript import AgentLog, FileDiff, Step
from kbsite.model.usage import NOTHING, Usage
from kbsite.on_demand import OnDemand


class Told(Struct, frozen=True, array_like=True):
    """What a step tells."""

    event: AnyEvent
    result: ToolResult | None
    """What came back, if it is a call."""
    diffs: tuple[FileDiff, ...]
    """What it changed."""
    anchor: str
    """Its permalink, and that of its result."""
    result_anchor: str


class _Usages:
    """Tokens in a row, in arrays: most steps of a long transcript have none."""

    def __init__(self) -> None:
        self._rows = array("i")
        self._kinds = [array("q") for _ in _KINDS]
        self._large: dict[int, Usage] = {}
        """What has numbers of more than eight bytes, by its row."""

    def append(self, usage: Usage) -> None:
        """Take one more."""
        if not usage.known:
            self._rows.append(_UNKNOWN)
            return
        row = len(self._kinds[0])
        self._rows.append(row)
        told: list[int | None] = [getattr(usage, kind) for kind in _KINDS]
        if any(count is not None and not 0 <= count <= _LARGEST for count in told):
            self._large[row] = usage
            told = [None] * len(told)
        for held, count in zip(self._kinds, told, strict=True):
            held.append(_UNKNOWN if count is None else count)

    def __getitem__(self, number: int) -> Usage:
        """One of them."""
        row = self._rows[number]
        if row == _UNKNOWN:
            return NOTHING
        if row in self._large:
            return self._large[row]
        told = {
            kind: held[row]
            for kind, held in zip(_KINDS, self._kinds, strict=True)
            if held[row] != _UNKNOWN
        }
        return Usage(**told)


_KINDS = tuple(kind.name for kind in fields(Usage))
_UNKNOWN, _LARGEST = -1, 2**63 - 1


class Steps(OnDemand[Step]):
    """The steps of an agent, each made when it is asked for: in memory is where it lies."""

    def __init__(self, aside: Aside[Told], steps: Iterable[tuple[Place | None, Step]]) -> None:
        """Each step with the place of what it tells; None for one that lies nowhere."""
        self._aside = aside
        self._places = Places()
        self._elapsed, self._behind = array("d"), array("d")
        self._usage = _Usages()
        self._agents: dict[int, tuple[AgentLog, ...]] = {}
        self._leapt: dict[int, float] = {}
        self._whole: dict[int, Step] = {}
        """Those that lie nowhere."""
        for number, (place, step) in enumerate(steps):
            if place is None:
                self._whole[number] = step
            if step.agents:
                self._agents[number] = step.agents
            if step.leapt:
                self._leapt[number] = step.leapt
            self._places.append(place)
            self._elapsed.append(nan if step.elapsed is None else step.elapsed)
            self._behind.append(step.behind)
            self._usage.append(step.usage)

    def kept(self, others: Iterable[Step]) -> Steps:
        """Other steps that tell the same, each in the place of one of these."""
        places = (self._places[number] for number in range(len(self)))
        return Steps(self._aside, zip(places, others, strict=True))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def made(self, number: int) -> Step:
        """One of them, by its number from 0; OSError where the file cannot be read."""
        place = self._places[number]
        if place is None:
            return self._whole[number]
        told, elapsed = self._aside.at(place), self._elapsed[number]
        return Step(
            event=told.event,
            anchor=told.anchor,
            elapsed=None if isnan(elapsed) else elapsed,
            behind=self._behind[number],
            leapt=self._leapt.get(number, 0.0),
            result=told.result,
            result_anchor=told.result_anchor,
            diffs=told.diffs,
            agents=self._agents.get(number, ()),
            usage=self._usage[number],
        )


def kept_as(held: Sequence[Step], others: Iterable[Step]) -> Sequence[Step]:
    """Other steps that tell the same, kept as some are: in memory, or in a file."""
    return held.kept(others) if isinstance(held, Steps) else list(others)
