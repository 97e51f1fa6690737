"""The steps of all agents of a transcript, in the order in which they ended."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec import Struct

from kbsite.fold.clock import moved
from kbsite.model.budget import LONGEST_SECONDS
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.model.usage import Usage, total

LONGEST = LONGEST_SECONDS + 86400
"""Seconds from which a duration is taken for a mistake: what ends a session may take as long as a
day beyond its budget.
"""


class Moment(Struct, frozen=True):
    """A step, and when it ended: a call ends with its result."""

    step: Step
    end: datetime | None
    elapsed: float | None
    tokens: int | None
    """Tokens that the main agent had sent and got until then; None where none were counted."""
    used: Usage
    """The same by kind."""


def ended(transcript: Transcript, step: Step) -> float | None:
    """When a step ended, in seconds into the session; None where nothing tells."""
    if step.elapsed is not None or step.result is None or transcript.late:
        return step.ended
    at, first = step.result.at, transcript.first
    return (at - first).total_seconds() + step.behind if at and first else None


def size(seconds: float | None) -> float | None:
    """A duration that a CLI wrote; None if it cannot be one: negative, ages long or no number."""
    return seconds if seconds is not None and 0 <= seconds <= LONGEST else None


def moments(transcript: Transcript) -> Collection[Moment]:
    """Every step of every agent, in order of time; a step without a time follows the one before.

    Those of a long transcript are made whenever they are gone through.
    """
    found = _Moments(transcript)
    return found if transcript.aside else list(found)


class _Moments(Collection[Moment]):
    """The moments of a transcript, of which no more is in memory than which comes when."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._logs: list[AgentLog] = []
        self._log, self._number = array("I"), array("I")
        """Where each step lies: in which log, and which of its steps it is."""
        self._end = array("d")
        """When each step ended, not a number where nothing tells."""
        all_ended = array("d")
        for log in transcript.agents:
            self._take(log, -math.inf, all_ended)
        order: Sequence[int] = range(len(self))
        if any(one > other for one, other in pairwise(all_ended)):
            order = array("I", sorted(order, key=all_ended.__getitem__))
        self._order = order

    def _take(self, log: AgentLog, last: float, all_ended: array[float]) -> float:
        """Take in an agent's steps, and those of the agents below it.

        `all_ended` gets when each step did, or else the one before it.
        """
        place = len(self._logs)
        self._logs.append(log)
        for number, step in enumerate(log.steps):
            at = ended(self._transcript, step)
            last = last if at is None else at
            self._log.append(place)
            self._number.append(number)
            self._end.append(math.nan if at is None else at)
            all_ended.append(last)
            for agent in step.agents:
                last = self._take(agent, last, all_ended)
        return last

    def __len__(self) -> int:
        return len(self._number)

    def __contains__(self, moment: object) -> bool:
        return any(moment == one for one in self)

    def __iter__(self) -> Iterator[Moment]:
        tokens: int | None = None
        used = Usage()
        first, main = self._transcript.first, self._transcript.main
        for place in self._order:
            log, end = self._logs[self._log[place]], self._end[place]
            step = log.steps[self._number[place]]
            known = [n for n in (step.usage.sent, step.usage.output) if n is not None]
            if log is main and known:
                tokens = (tokens or 0) + sum(known)
                used = total([used, step.usage])
            if math.isnan(end):
                yield Moment(step, None, None, tokens, used)
            else:
                yield Moment(step, moved(first, end), end, tokens, used)
