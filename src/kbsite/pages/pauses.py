"""When steps begin and end, the pauses between them, and where a clock was set back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime

from kbsite.model.event import Message, Thought, ToolCall
from kbsite.model.transcript import Step

PAUSE_SECONDS = 60
"""A pause that is longer is shown."""

BACK_SECONDS = 10
"""A clock that goes back by more is told; what happens side by side is written less far apart."""

_AHEAD = 50
"""So many steps behind one are looked at for the next whose time tells the clock."""

_KEPT = 1000
"""Steps whose ends are remembered at least: clocks that run backwards cost no more than others."""


def ended(step: Step) -> float | None:
    """When a step is over, its result included, in seconds into the session; None if unknown."""
    if step.elapsed is None or step.result is None:
        return step.elapsed
    return step.elapsed + max(0.0, _between(step.event.at, step.result.at))


def with_pauses(steps: Sequence[Step]) -> Iterator[tuple[Step, float]]:
    """Each step of an agent with the pause before it, in seconds; 0 for one not worth a word.

    It is less than 0 where the clock was set back before the step.

    A pause is what passes from the end of all steps before to the begin of this one: for a model
    that thinks it over, a provider that is down, a person who is asked, a laptop that sleeps. Steps
    that begin later by their own clock are not before it: one row whose clock is ahead would hide
    all pauses until then.
    """
    ends, clock = _Ends(), _Clock(steps)
    told: float | None = None
    for number, step in enumerate(steps):
        pause = 0.0
        if step.elapsed is not None:
            last = ends.before(step.elapsed)
            # Of steps out of their order only one is told of a pause that they all end.
            if last is not None and last != told and step.elapsed - last > PAUSE_SECONDS:
                pause, told = step.elapsed - last, last
            pause = -clock.back(number) or pause
        yield step, pause
        if step.elapsed is not None and (end := ended(step)) is not None:
            ends.add(step.elapsed, end)


class _Clock:
    """The clock of an agent's steps, and where it was set back."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._last = 0.0
        self._file, self._line = "", 0

    def back(self, number: int) -> float:
        """By how many seconds the clock was set back before a step; 0 where it was not.

        A CLI may write a row later than its time says, what was queued for one. So the next step
        has to be as early, too.
        """
        step = self._steps[number]
        at = self._time(step)
        if at is None:
            return 0.0
        source = step.event.source
        if source.file != self._file:
            # Sessions of one run may go on side by side.
            self._file, self._last = source.file, at
        # What one row tells happened side by side.
        back = self._last - at if source.line != self._line else 0.0
        self._line = source.line
        if back <= BACK_SECONDS:
            self._last = max(self._last, at)
            return 0.0
        behind = self._steps[number + 1 : number + 1 + _AHEAD]
        following = next((t for one in behind if (t := self._time(one)) is not None), None)
        if following is None or not at <= following < self._last - BACK_SECONDS:
            return 0.0
        self._last = at
        return back

    def _time(self, step: Step) -> float | None:
        """When a step was, by the clock; None for one that may be written at another time."""
        event = step.event
        if isinstance(event, Message):
            return None if event.injected else step.elapsed
        return step.elapsed if isinstance(event, ToolCall | Thought) else None


class _Ends:
    """When everything was over that began until some moment."""

    def __init__(self) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []

    def before(self, moment: float) -> float | None:
        """The last end of what began until then; None where nothing did."""
        at = bisect_right(self._begins, moment)
        return self._ends[at - 1] if at else None

    def add(self, begin: float, end: float) -> None:
        """Keep only what ends after all that began before it: both lists rise."""
        at = bisect_right(self._begins, begin)
        if at and self._ends[at - 1] >= end:
            return
        if at < len(self._begins):
            past = bisect_right(self._ends, end, lo=at)
            del self._begins[at:past], self._ends[at:past]
        self._begins.insert(at, begin)
        self._ends.insert(at, end)
        if len(self._begins) > 2 * _KEPT:
            del self._begins[:_KEPT], self._ends[:_KEPT]


def _between(start: datetime | None, end: datetime | None) -> float:
    return (end - start).total_seconds() if start and end else 0.0
