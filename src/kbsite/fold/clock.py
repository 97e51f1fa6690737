"""Sessions whose clock was set back: their steps by one clock, which never is.

A machine's clock is set while it runs, by hours where it was wrong. By such a clock a session goes
on before it began: its scores and edits would stand in another order than that in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import accumulate
from math import inf

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.fold.steps_aside import kept_as
from kbsite.model.event import Message, Thought, ToolCall
from kbsite.model.transcript import AgentLog, Step, Transcript

BACK_SECONDS = 10
"""A clock that goes back by more was set; what happens side by side is written less far apart."""

_AHEAD = 50
"""So many steps behind one are looked at for the next whose time tells the clock."""

_ABOUT = 1.1
"""A leap that is larger by this, and by what is no set back, is not the one that was taken back."""


def by_one_clock(transcript: Transcript) -> Transcript:
    """The transcript with its seconds by one clock; the same one where no clock was set back."""
    logs = [_by_one_clock(log, 0.0) for log in transcript.agents]
    if all(one is other for one, other in zip(logs, transcript.agents, strict=True)):
        return transcript
    times = [at for log in logs for step in log.every_step for at in _known(step)]
    start = min(times, default=0.0)
    main, *unlinked = (_begun_at(log, start) for log in logs)
    return replace(
        transcript,
        main=main,
        unlinked=tuple(unlinked),
        first=moved(transcript.first, start),
        last=moved(transcript.first, max(times, default=0.0)),
    )


def moved(at: datetime | None, seconds: float) -> datetime | None:
    """A moment so much later; the same one where there is no such year."""
    try:
        return at and at + timedelta(seconds=seconds)
    except OverflowError:
        return at


def _by_one_clock(log: AgentLog, before: float) -> AgentLog:
    """A log by one clock, which is `before` seconds ahead of its own where it begins."""
    behind, leapt = seconds_behind(log.steps)
    if not (before or any(behind) or any(step.agents for step in log.steps)):
        return log
    changed = False

    def by_it() -> Iterator[Step]:
        nonlocal changed
        for number, (step, own) in enumerate(zip(log.steps, behind, strict=True)):
            told = _moved(step, before + own, leapt.get(number, 0.0))
            changed = changed or told is not step
            yield told

    steps = kept_as(log.steps, by_it())
    return replace(log, steps=steps) if changed else log


def _moved(step: Step, seconds: float, leapt: float) -> Step:
    """A step, and what its sub-agents did, so much later; the same one where that is nothing.

    Its call took less by what its clock `leapt`.
    """
    agents = tuple([_by_one_clock(agent, seconds) for agent in step.agents])
    same = all(one is other for one, other in zip(agents, step.agents, strict=True))
    if same and not (seconds or leapt):
        return step
    at = None if step.elapsed is None else step.elapsed + seconds
    return replace(step, elapsed=at, behind=seconds, leapt=leapt, agents=agents)


def _begun_at(log: AgentLog, start: float) -> AgentLog:
    steps = (
        replace(
            step,
            elapsed=None if step.elapsed is None else step.elapsed - start,
            agents=tuple([_begun_at(agent, start) for agent in step.agents]),
        )
        for step in log.steps
    )
    return replace(log, steps=kept_as(log.steps, steps))


def _known(step: Step) -> Iterator[float]:
    if step.elapsed is not None and step.ended is not None:
        yield step.elapsed
        yield step.ended


def seconds_behind(steps: Sequence[Step]) -> tuple[list[float], dict[int, float]]:
    """By how many seconds the clock of each step is behind the one that its file began with.

    Where a clock was set back, what follows comes next. It is less than 0 for steps whose clock was
    ahead: they came after a leap that was taken back. Where that came while calls were under way,
    their numbers tell by how much it leapt.
    """
    if _only_goes_on(steps):
        return [0.0] * len(steps), {}
    files: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        # Sessions of one run may go on side by side, each in a file of its own.
        files.setdefault(step.event.source.file, []).append(number)
    found = [0.0] * len(steps)
    leapt: dict[int, float] = {}
    for numbers in files.values():
        alone = len(files) == 1
        clock = _Clock(steps if alone else [steps[number] for number in numbers])
        for number, seconds in zip(numbers, clock.behind(), strict=True):
            found[number] = seconds
        leapt |= {numbers[call]: seconds for call, seconds in clock.leapt.items()}
    return found, leapt


def _only_goes_on(steps: Sequence[Step]) -> bool:
    """Whether no step is earlier than any before it or its result: most sessions are so."""
    last = -inf
    for step in steps:
        at = step.elapsed
        if at is not None:
            if at < last - BACK_SECONDS:
                return False
            end = at if step.result is None else step.ended
            last = max(last, at, at if end is None else end)
    return True


class _Clock(Struct):
    """The clock of the steps of one file, as it goes on."""

    steps: Sequence[Step]
    last: float | None = None
    """The latest time so far, since the clock was set back."""
    line: int = 0
    turn: int = 0
    """How often the clock was set back so far."""
    open: list[tuple[int, float, int, int]] = field(default_factory=list)
    """Results that are still to come: their lines, their times, in which turn they began, and the
    steps that they are of."""
    leaps: list[tuple[int, float, list[int]]] = field(default_factory=list)
    """Steps before which time leapt ahead, and by how much, each by less than the one before; and
    the calls that were under way then."""
    leapt: dict[int, float] = field(default_factory=dict)
    """By how much it leapt while calls were under way, where that was taken back."""

    def behind(self) -> list[float]:
        changes = [0.0] * len(self.steps)
        for number, step in enumerate(self.steps):
            back = self._back(number)
            if back:
                if leap := self._taken_back(back):
                    ahead, calls = leap
                    changes[ahead] -= back
                    self.leapt |= dict.fromkeys(calls, back)
                changes[self._since(number)] += back
            if isinstance(step.event, ToolCall) and step.ended is not None and step.result:
                heappush(self.open, (step.result.source.line, step.ended, self.turn, number))
        return list(accumulate(changes))

    def _back(self, number: int) -> float:
        """By how many seconds the clock was set back before a step; 0 where it was not.

        A CLI may write a row later than its time says, what was queued for one. So the next step
        has to be as early, too.
        """
        step = self.steps[number]
        at = _time(step)
        if at is None:
            return 0.0
        # What one row tells happened side by side.
        line, self.line = self.line, step.event.source.line
        if line == self.line:
            self.last = at if self.last is None else max(self.last, at)
            return 0.0
        self._close(number)
        return self._next(number, at)

    def _close(self, number: int) -> None:
        """Take in the results that came before a step."""
        before, leapt = self.last, []
        while self.open and self.open[0][0] < self.line:
            _, end, turn, call = heappop(self.open)
            if turn == self.turn:
                self.last = end if self.last is None else max(self.last, end)
                if before is not None and end > before + BACK_SECONDS:
                    leapt.append(call)
        if leapt and before is not None and self.last is not None:
            self._leap(number, self.last - before, leapt)

    def _since(self, number: int) -> int:
        """The first of the rows before a step that tell nothing, and are of its clock."""
        at, first = self.steps[number].elapsed or 0.0, number
        for before in range(number - 1, -1, -1):
            told = self.steps[before].elapsed
            if _time(self.steps[before]) is not None or (told is not None and told > at):
                break
            first = first if told is None else before
        return first

    def _next(self, number: int, at: float) -> float:
        """The same, once all is known that was before."""
        last = at if self.last is None else self.last
        if at >= last - BACK_SECONDS:
            self._leap(number, at - last, [])
            self.last = max(last, at)
            return 0.0
        behind = self.steps[number + 1 : number + 1 + _AHEAD]
        following = next((t for one in behind if (t := _time(one)) is not None), None)
        if following is None or not at <= following < last - BACK_SECONDS:
            return 0.0
        self.last, self.turn = at, self.turn + 1
        return last - at

    def _leap(self, number: int, seconds: float, calls: list[int]) -> None:
        if seconds <= BACK_SECONDS:
            return
        while self.leaps and self.leaps[-1][1] <= seconds:
            self.leaps.pop()
        self.leaps.append((number, seconds, calls))

    def _taken_back(self, seconds: float) -> tuple[int, list[int]] | None:
        """The last step before which time leapt ahead by about as much as it was set back then.

        With the calls that were under way; None where there is none.
        """
        while self.leaps and self.leaps[-1][1] < seconds:
            self.leaps.pop()
        if not self.leaps or self.leaps[-1][1] > _ABOUT * seconds + BACK_SECONDS:
            return None
        number, _, calls = self.leaps.pop()
        return number, calls


def _time(step: Step) -> float | None:
    """When a step was, by the clock; None for one that may be written at another time."""
    event = step.event
    if isinstance(event, Message):
        return None if event.injected else step.elapsed
    return step.elapsed if isinstance(event, ToolCall | Thought) else None
