"""When steps begin and end, and the pauses between them in which nothing is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from kbsite.model.transcript import Step

PAUSE_SECONDS = 60
"""A pause that is longer is shown."""


def ended(step: Step) -> float | None:
    """When a step is over, its result included, in seconds into the session; None if unknown."""
    if step.elapsed is None or step.result is None:
        return step.elapsed
    return step.elapsed + max(0.0, _between(step.event.at, step.result.at))


def with_pauses(steps: Iterable[Step]) -> Iterator[tuple[Step, float]]:
    """Each step of an agent with the pause before it, in seconds; 0 for one not worth a word.

    A pause is what passes from the end of all steps before to the begin of this one: for a model
    that thinks it over, a provider that is down, a person who is asked, a laptop that sleeps.
    """
    last: float | None = None
    for step in steps:
        pause = 0.0
        if step.elapsed is not None and last is not None:
            pause = step.elapsed - last
        yield step, pause if pause > PAUSE_SECONDS else 0.0
        end = ended(step)
        if last is None or (end is not None and end > last):
            last = end


def _between(start: datetime | None, end: datetime | None) -> float:
    return (end - start).total_seconds() if start and end else 0.0
