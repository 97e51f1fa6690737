"""The pauses between steps, and where a clock was set back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kbsite.model.transcript import Step

PAUSE_SECONDS = 60
"""A pause that is longer is shown."""

_KEPT = 1000
"""Steps whose ends are remembered at least: clocks that run backwards cost no more than others."""


def with_pauses(steps: Sequence[Step]) -> Iterator[tuple[Step, float]]:
    """Each step of an agent with the pause before it, in seconds; 0 for one not worth a word.

    It is less than 0 where the clock was set back before the step.

    A pause is what passes from the end of all steps before to the begin of this one: for a model
    that thinks it over, a provider that is down, a person who is asked, a laptop that sleeps. Steps
    that begin later by their own clock are not before it: one row whose clock is ahead would hide
    all pauses until then.
    """
    ends = _Ends()
    told: float | None = None
    behind: dict[str, float] = {}
    for step in steps:
        pause = 0.0
        if step.elapsed is not None:
            last = ends.before(step.elapsed)
            # Of steps out of their order only one is told of a pause that they all end.
            if last is not None and last != told and step.elapsed - last > PAUSE_SECONDS:
                pause, told = step.elapsed - last, last
        # The clocks of sessions that went on side by side are each their own.
        file = step.event.source.file
        back = step.behind - behind.get(file, step.behind)
        behind[file] = step.behind
        yield step, -back if back > 0 else pause
        if step.elapsed is not None and step.ended is not None:
            ends.add(step.elapsed, step.ended)


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
