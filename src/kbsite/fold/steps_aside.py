"""Steps of long transcripts, which read what they tell from a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import fields
from math import isnan, nan
from typing import cast, overload

from msgspec import Struct

from kbsite.fold.aside import Aside, Place, Places
from kbsite.model.event import AnyEvent, ToolResult
from kbsite.model.transcript import AgentLog, FileDiff, Placed, Step
from kbsite.model.usage import Usage


class Told(Struct, frozen=True, array_like=True):
    """What a step tells."""

    event: AnyEvent
    result: ToolResult | None
    """What came back, if it is a call."""
    diffs: tuple[FileDiff, ...]
    """What it changed."""
    anchor: str = ""
    """Its permalink, and that of its result."""
    result_anchor: str = ""


class StepAside(Placed, frozen=True, kw_only=True):
    """A `Step` that reads what it tells when it is asked for it."""

    aside: Aside[Told]
    place: Place

    @property
    def event(self) -> AnyEvent:
        """What happened."""
        return self.aside.at(self.place).event

    @property
    def result(self) -> ToolResult | None:
        """What came back, if it is a call."""
        return self.aside.at(self.place).result

    @property
    def diffs(self) -> tuple[FileDiff, ...]:
        """What it changed."""
        return self.aside.at(self.place).diffs

    @property
    def ended(self) -> float | None:
        """When it was over, its result included, as `elapsed` counts; None if unknown."""
        return self.whole.ended

    @property
    def whole(self) -> Step:
        """The step with all that it tells."""
        told = self.aside.at(self.place)
        return Step(
            event=told.event,
            anchor=self.anchor,
            elapsed=self.elapsed,
            behind=self.behind,
            result=told.result,
            result_anchor=self.result_anchor,
            diffs=told.diffs,
            agents=self.agents,
            usage=self.usage,
        )


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
            return _NONE
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
_NONE = Usage()


class Steps(Sequence[Step]):
    """The steps of an agent, of which no more is in memory than where each lies."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._places = Places()
        self._elapsed, self._behind = array("d"), array("d")
        self._usage = _Usages()
        self._agents: dict[int, tuple[AgentLog, ...]] = {}
        self._whole: dict[int, Step] = {}
        """Those that lie nowhere."""
        self._aside: Aside[Told] | None = None
        for step in steps:
            self._append(step)

    def _append(self, step: Step) -> None:
        number = len(self)
        if not isinstance(step, StepAside):
            self._whole[number] = step
            self._places.append(None)
        else:
            self._aside = step.aside
            self._places.append(step.place)
        self._elapsed.append(nan if step.elapsed is None else step.elapsed)
        self._behind.append(step.behind)
        self._usage.append(step.usage)
        if step.agents:
            self._agents[number] = step.agents

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    @overload
    def __getitem__(self, number: int) -> Step: ...
    @overload
    def __getitem__(self, number: slice) -> list[Step]: ...
    def __getitem__(self, number: int | slice) -> Step | list[Step]:
        """One of them, or several."""
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        place = self._places[number]
        number %= len(self)
        if place is None or self._aside is None:
            return self._whole[number]
        told = self._aside.at(place)
        elapsed = self._elapsed[number]
        step = StepAside(
            aside=self._aside, place=place, anchor=told.anchor,
            elapsed=None if isnan(elapsed) else elapsed, behind=self._behind[number],
            result_anchor=told.result_anchor, agents=self._agents.get(number, ()),
            usage=self._usage[number],
        )  # fmt: skip
        # It answers all that a step is asked.
        return cast("Step", step)


def kept_as(held: Sequence[Step], others: Iterable[Step]) -> Sequence[Step]:
    """Other steps, kept as some are: in memory, or where each lies."""
    return Steps(others) if isinstance(held, Steps) else tuple(others)
