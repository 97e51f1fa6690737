"""Where the main agent's time went: in calls, in the model, or in waiting for somebody else."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import pairwise

from msgspec import Struct, field

from kbsite.fold.results import is_apart, outlives
from kbsite.model.event import Message, Notice, Role, Thought, ToolCall, ToolKind, Topic
from kbsite.model.transcript import Step, Transcript
from kbsite.trajectories.times import size

AT_ONCE = 0.05
"""Seconds within which rows are taken for written at once."""


_ASK_FOR_LEAVE = {"exitplanmode", "planexit"}
"""Tools with which models show a plan and end planning, as soon as a person agrees to it."""


class Activity(Struct):
    """Seconds of the main agent, each counted once."""

    tools: dict[ToolKind, float]
    model: float = 0.0
    idle: float = 0.0

    @property
    def span(self) -> float:
        """All of them."""
        return sum(self.tools.values()) + self.model + self.idle


def _times() -> array[float]:
    return array("d")


class _Timeline(Struct):
    """When rows with a time were, in arrays: a long transcript has very many."""

    starts: array[float] = field(default_factory=_times)
    ends: array[float] = field(default_factory=_times)
    kinds: list[ToolKind] = field(default_factory=list)
    """Of the calls, by number."""
    marks: array[float] = field(default_factory=_times)
    """The moments of rows."""
    spoken: array[float] = field(default_factory=_times)
    """Those at which the model spoke."""

    def spans(self) -> Iterator[tuple[float, float]]:
        """From each moment at which something began or ended to the next."""
        bounds = array("d", sorted(self.marks + self.starts + self.ends))
        return ((start, end) for start, end in pairwise(bounds) if start < end)

    def running(self, spans: Iterator[tuple[float, float]]) -> Iterator[tuple[float, float, int]]:
        """The same with the call that was under way and began first; -1 where there was none."""
        waiting = sorted(range(len(self.starts)), key=self.starts.__getitem__)
        begun = 0
        running: list[tuple[float, int]] = []
        for start, end in spans:
            while begun < len(waiting) and self.starts[waiting[begun]] <= start:
                heappush(running, (self.starts[waiting[begun]], waiting[begun]))
                begun += 1
            while running and self.ends[running[0][1]] <= start:
                heappop(running)
            yield start, end, running[0][1] if running else -1


def activity_of(transcript: Transcript) -> Activity | None:
    """Where the main agent's time went; None where fewer than two rows have a time."""
    held = _timeline(transcript)
    spoken = sorted(held.spoken)
    found, heard, known = Activity({}), 0, False
    for start, end, call in held.running(held.spans()):
        known = True
        while heard < len(spoken) and spoken[heard] < end:
            heard += 1
        if call >= 0:
            kind = held.kinds[call]
            found.tools[kind] = found.tools.get(kind, 0.0) + end - start
        elif heard < len(spoken) and spoken[heard] == end:
            found.model += end - start
        else:
            found.idle += end - start
    return found if known else None


def _timeline(transcript: Transcript) -> _Timeline:
    """The calls with a time, and the moments of other rows: whether a model spoke there."""
    held = _Timeline()
    before, asked_again = None, None
    last, earlier = 0.0, 0.0
    for step in transcript.main.steps:
        at, speaks = step.elapsed, _speaks_after(before, step)
        if at is None or speaks is None:
            continue
        if asked_again is not None and asked_again < at:
            held.marks.append(asked_again)
        before, asked_again = step, _asked_again(step, at)
        if at - last > AT_ONCE:
            earlier = last
        last = max(at, last)
        begun = _begin(step, at, earlier)
        held.marks.append(begun)
        if speaks:
            held.spoken.append(begun)
        if isinstance(step.event, ToolCall) and _asks_somebody(step.event):
            held.marks.append(_end(step, at))
        elif isinstance(step.event, ToolCall):
            held.starts.append(begun)
            held.ends.append(_end(step, at))
            held.kinds.append(step.event.tool_kind)
    return held


def _speaks_after(before: Step | None, step: Step) -> bool | None:
    """Whether a row is a model's, by what stands before it; None where nothing says it."""
    speaks = _speaks(step)
    if before is None:
        return speaks
    if speaks is None and _is_told(step) and _had_its_say(before):
        # Until the CLI told the model something, such as that a task has ended, it waited.
        return False
    if _is_compaction(step) and (isinstance(before.event, ToolCall) or _is_told(before)):
        # In the midst of a turn: until then a model wrote the summary.
        return True
    return speaks


def _had_its_say(step: Step) -> bool:
    return isinstance(step.event, Message) and _speaks(step) is True


def _asked_again(step: Step, at: float) -> float | None:
    """When a request that failed was made once more, as far as the CLI tells."""
    wait = size(step.event.wait) if isinstance(step.event, Notice) else None
    return None if wait is None else at + wait


def _asks_somebody(call: ToolCall) -> bool:
    """Whether a call has questions or a plan for a person, who is waited for until its result."""
    if call.tool_kind is ToolKind.PLAN:
        return call.tool.replace("_", "").lower() in _ASK_FOR_LEAVE
    asked = call.arguments.get("questions") if isinstance(call.arguments, Mapping) else None
    if call.tool_kind is not ToolKind.OTHER or not isinstance(asked, list):
        return False
    return any(isinstance(one, Mapping) and one.get("question") for one in asked)


def _begin(step: Step, at: float, earlier: float) -> float:
    """When a row's work began: some CLIs write a call down with its result, and how long it took.

    It began after what was there `earlier` than the rows that were written with it.
    """
    call, result = step.event, step.result
    took = size(result.seconds) if result and result.at else None
    if took is None or result is None or not isinstance(call, ToolCall):
        return at
    over = _end(step, at)
    if over - at > AT_ONCE or is_apart(call) or outlives(result):
        return at
    return max(min(at, over - took), min(at, earlier))


def _end(step: Step, start: float) -> float:
    """When a call ended: at its result's time, else after the time that the CLI says it took."""
    if step.result is None:
        return start
    over = step.ended if step.result.at else start + (size(step.result.seconds) or 0.0)
    return start if over is None else over


def _is_told(step: Step) -> bool:
    """Whether a row is what the CLI told the model without being asked."""
    event = step.event
    return isinstance(event, Message) and event.role is not Role.ASSISTANT


def _is_compaction(step: Step) -> bool:
    return isinstance(step.event, Notice) and step.event.topic is Topic.COMPACTION


def _speaks(step: Step) -> bool | None:
    """Whether a row is the model's; None for one that says nothing of who was at work."""
    match step.event:
        case Thought() | ToolCall() | Message(role=Role.ASSISTANT, injected=False):
            return True
        case Notice(of_model=True):
            return True
        case Message(role=Role.USER, injected=False) | Notice():
            return False
        case _:
            return None
