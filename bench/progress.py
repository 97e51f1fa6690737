"""How far a grading is: as a share of the whole, and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bench.grading.setting import Step

Told = Callable[[Step], None]
"""Whoever is told the steps of a grading."""


@dataclass
class Track:
    """Where a grading stands. Nobody says beforehand how many shapes a round has: it shows."""

    _round: int = 0
    _seen: list[str] = field(default_factory=list)
    _shapes: int = 1
    """The most shapes that a round had."""

    def share(self, step: Step) -> float | None:
        """How much of the rounds is done, 0 to 1; None in the first one, which shows how long."""
        if step.round != self._round:
            self._shapes = max(self._shapes, len(self._seen))
            self._round, self._seen = step.round, []
        if step.shape and step.shape not in self._seen:
            self._seen.append(step.shape)
        if step.round <= 1:
            return None
        within = step.done / step.of if step.of else 0.0
        shapes = len(self._seen) - 1 + within if self._seen else 0.0
        whole = (step.round - 1) % step.rounds + min(shapes / self._shapes, 1.0)
        return min(whole / step.rounds, 1.0)


def words(step: Step) -> str:
    """Such as "round 2 of 5: calling, square"."""
    told = f"{step.stage}, {step.shape}" if step.shape else step.stage
    if not step.round:
        return told
    # Rounds that did not agree are all made anew, and are counted on.
    again, number = divmod(step.round - 1, step.rounds)
    return f"{'again, ' * bool(again)}round {number + 1} of {step.rounds}: {told}"
