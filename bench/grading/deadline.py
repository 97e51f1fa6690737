"""How long a grading may take as a whole, whatever each of its steps may take."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

from bench.grading.failures import Failure
from kbsite.model.grade import Outcome


class Deadline:
    """The moment until which a grading has to be done, those rounds too that are made again.

    Who stays just below the limit of each step would else hold a device for days.
    """

    def __init__(self, seconds: float = inf, now: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._until = now() + seconds

    def within(self, seconds: float, stage: str) -> float:
        """So many seconds for a step, or what is left of the whole; Failure if nothing is."""
        self.check(stage)
        return min(seconds, self._until - self._now())

    def check(self, stage: str) -> None:
        """Failure if it is over; `stage` is what is done now."""
        if self._now() >= self._until:
            said = f"the grading as a whole took more than {self._seconds:g} s ({stage})"
            raise Failure(Outcome.TIMEOUT, said)
