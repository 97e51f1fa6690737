"""The steps of all agents of a transcript, in the order in which they ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from kbsite.fold.clock import moved
from kbsite.model.transcript import AgentLog, Step, Transcript
from kbsite.model.usage import Usage, total

LONGEST = 366 * 86400
"""Seconds from which a duration is taken for a mistake."""


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
    if step.elapsed is not None or step.result is None:
        return step.ended
    at, first = step.result.at, transcript.first
    return (at - first).total_seconds() + step.behind if at and first else None


def size(seconds: float | None) -> float | None:
    """A duration that a CLI wrote; None if it cannot be one: negative, ages long or no number."""
    return seconds if seconds is not None and 0 <= seconds <= LONGEST else None


def moments(transcript: Transcript) -> list[Moment]:
    """Every step of every agent, in order of time; a step without a time follows the one before."""
    timed: list[tuple[float, float | None, bool, Step]] = []
    for log in transcript.agents:
        last = -math.inf
        for ours, step in _steps(log, main=log is transcript.main):
            at = ended(transcript, step)
            last = last if at is None else at
            timed.append((last, at, ours, step))
    return list(_counted(transcript, sorted(timed, key=lambda item: item[0])))


def _steps(log: AgentLog, *, main: bool) -> Iterator[tuple[bool, Step]]:
    """The steps of an agent and of those below it, and whether each is the main agent's own."""
    for step in log.steps:
        yield main, step
        for agent in step.agents:
            for below in agent.every_step:
                yield False, below


def _counted(
    transcript: Transcript, timed: list[tuple[float, float | None, bool, Step]]
) -> Iterator[Moment]:
    tokens: int | None = None
    used = Usage()
    for _, end, main, step in timed:
        known = [n for n in (step.usage.sent, step.usage.output) if n is not None]
        if main and known:
            tokens = (tokens or 0) + sum(known)
            used = total([used, step.usage])
        at = None if end is None else moved(transcript.first, end)
        yield Moment(step, at, end, tokens, used)
