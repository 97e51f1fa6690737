"""What is asked about a contender before its runs, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

Told = Callable[[str, float | None], None]
"""Whoever is told what is done now, and how much is done in all, 0 to 1."""

MODEL = "scripted-1"
"""The model of whoever names none: it exists in scripts alone."""


class State(Enum):
    """How a check ended."""

    FINE = "fine"
    WRONG = "wrong"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at, or tried."""

    name: str
    state: State
    seen: str
    """What was seen, in a sentence without its full stop."""
    cure: str = ""
    """What to do about it; empty where there is nothing to do."""

    @property
    def sentence(self) -> str:
        """What was seen, and what to do about it."""
        return f"{self.seen}; {self.cure}" if self.cure else self.seen


def not_tried(name: str, why: str) -> Check:
    """A check that was not made, and why."""
    return Check(name=name, state=State.NOT_TRIED, seen=why)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A contender that is to start."""

    harness: str
    model: str = MODEL
    effort: str | None = None
    provider: str | None = None
    """None: who serves the model is not asked about."""

    @property
    def label(self) -> str:
        """Such as "claude · opus-x [max]"."""
        return f"{self.harness} · {self.model}" + (f" [{self.effort}]" if self.effort else "")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A contender with all that was found."""

    wanted: Wanted
    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[Check, ...]:
        """What keeps it from starting."""
        return tuple(one for one in self.checks if one.state is State.WRONG)

    @property
    def can_start(self) -> bool:
        """Whether nothing was found that keeps it from starting."""
        return not self.problems

    def check(self, name: str) -> Check:
        """The check of that name."""
        return next(one for one in self.checks if one.name == name)
