"""What can become of a cell: its states, and every way from one to another, here alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from random import Random
from types import MappingProxyType

from bench.sweeps.sheet import Retries


class State(Enum):
    """Where a cell stands."""

    WAITING = "waiting"
    """No run that counts; a try may start when it is due."""
    RUNNING = "running"
    """A try of its session was started, and nobody knows yet how it ended."""
    RAN = "ran"
    """A complete run lies on disk, and its grade is due."""
    GRADING = "grading"
    """A try of its grade was started, and nobody knows yet how it ended."""
    DONE = "done"
    """A complete run lies on disk, graded where the sweep wants grades."""
    FAILED = "failed"
    """Nothing more is tried: a person has to look."""


class Kind(Enum):
    """What is tried."""

    AGENT = "agent"
    """A session, by a supervisor of its own."""
    GRADE = "grade"
    """The grade of a complete run."""


class Outcome(Enum):
    """How a try ended, as the disk tells it."""

    RAN = "ran"
    """The run is complete, and counts."""
    GRADED = "graded"
    """The run has a grade, sealed."""
    SPOILT = "spoilt"
    """The run is complete, but the provider or the harness failed: it may be repeated."""
    DOWN = "down"
    """The same, while the provider was down for all, or refused all: it counts for no cell."""
    STOPPED = "stopped"
    """Somebody stopped it; what it left was moved aside."""
    LOST = "lost"
    """It left no complete run or no grade; what it left was moved aside."""
    ELSEWHERE = "elsewhere"
    """Nothing was started: another sweep works on the cell, or has made it."""
    REFUSED = "refused"
    """It did not start, and would not another time: a person has to mend something."""


OPEN = (State.RUNNING, State.GRADING)
"""States of a cell that a try is under way for."""

MOVES: Mapping[State, Mapping[State, str]] = MappingProxyType(
    {
        State.WAITING: {
            State.RUNNING: "a try starts",
            State.RAN: "a run that counts was found on disk",
            State.DONE: "a run that counts was found on disk, and nothing is due",
            State.FAILED: "its tries are used up",
        },
        State.RUNNING: {
            State.WAITING: "the try left no run that counts",
            State.RAN: "the run is complete",
            State.DONE: "the run is complete, and nothing is due",
            State.FAILED: "its tries are used up, or a person has to mend something",
        },
        State.RAN: {
            State.GRADING: "a grade starts",
            State.DONE: "a grade was found on disk, or is not wanted any more",
            State.WAITING: "its run is not on disk any more",
        },
        State.GRADING: {
            State.RAN: "the try left no grade",
            State.DONE: "the run is graded",
            State.FAILED: "its tries are used up, or a person has to mend something",
            State.WAITING: "its run is not on disk any more",
        },
        State.DONE: {
            State.WAITING: "its run is not on disk any more",
            State.RAN: "its grade is wanted now, or not on disk any more",
        },
        State.FAILED: {
            State.WAITING: "a person wants it tried again",
            State.RAN: "a run that counts was found on disk, or its grade is tried again",
            State.DONE: "a run that counts was found on disk, and nothing is due",
        },
    }
)
"""Every move that there is, and what it means."""


LONGEST_FACTOR = 1.5
"""What a wait is by chance, at most, of what it would be without."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often tries of a cell ended badly, since a person last wanted it tried."""

    spoilt: int = 0
    lost: int = 0


@dataclass(frozen=True, kw_only=True)
class Next:
    """What becomes of a cell after a try."""

    state: State
    tally: Tally
    wait_seconds: float = 0.0
    """How long it has to wait until the next try."""


def after(
    kind: Kind, outcome: Outcome, before: Tally, retries: Retries, *, grade: bool, chance: Random
) -> Next:
    """What becomes of a cell after a try of a kind; `grade` says whether grades are wanted."""
    again = State.WAITING if kind is Kind.AGENT else State.RAN
    match outcome:
        case Outcome.RAN:
            return Next(state=State.RAN if grade else State.DONE, tally=Tally())
        case Outcome.GRADED:
            return Next(state=State.DONE, tally=Tally())
        case Outcome.STOPPED | Outcome.ELSEWHERE | Outcome.DOWN:
            return Next(state=again, tally=before)
        case Outcome.REFUSED:
            return Next(state=State.FAILED, tally=before)
        case Outcome.SPOILT:
            tally = Tally(spoilt=before.spoilt + 1, lost=before.lost)
            count, most = tally.spoilt, retries.most
        case Outcome.LOST:
            tally = Tally(spoilt=before.spoilt, lost=before.lost + 1)
            count, most = tally.lost, retries.lost
    if count > most:
        return Next(state=State.FAILED, tally=tally)
    return Next(state=again, tally=tally, wait_seconds=backoff(count, retries, chance))


def backoff(count: int, retries: Retries, chance: Random) -> float:
    """Seconds until the try after the `count`-th failure, with up to half as much more by chance.

    By chance, so that not all come back to a provider at once.
    """
    doubled = retries.backoff_seconds * float(2 ** min(count - 1, 30))
    return min(doubled, retries.longest_seconds) * (1 + chance.random() * (LONGEST_FACTOR - 1))
