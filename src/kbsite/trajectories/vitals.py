"""Where the time and the tokens of a transcript went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush, nlargest
from itertools import pairwise

from msgspec import Struct

from kbsite.model.event import Message, Notice, Role, Thought, ToolCall, ToolKind, Topic
from kbsite.model.trajectory import Compaction, ContextSize, Point, PointKind, SlowCall, VitalSigns
from kbsite.model.transcript import Step, Transcript
from kbsite.trajectories.times import Moment, size

SLOWEST = 10
"""Number of calls that are told as the slowest."""


def vital_signs(
    transcript: Transcript, all_moments: Sequence[Moment], points: Sequence[Point]
) -> VitalSigns:
    """Where the time and the tokens of a transcript went."""
    work = _work(transcript)
    tools = work.tools if work else _told(transcript)
    steps = [moment.step for moment in all_moments]
    calls = Counter(s.event.tool_kind for s in steps if isinstance(s.event, ToolCall))
    context, compactions = _context(transcript)
    passed = (p for p in points if p.kind is PointKind.CHECK and p.passed)
    span, model, idle = (
        (round(work.span, 6), round(work.model, 6), round(work.idle, 6))
        if work
        else (None, None, None)
    )
    return VitalSigns(
        span=span,
        model=model,
        idle=idle,
        tools={kind: round(tools[kind], 6) for kind in _kinds(tools)},
        calls={kind: calls[kind] for kind in _kinds(calls)},
        slowest=tuple(_slowest(steps)),
        usage=transcript.usage,
        context=context,
        compactions=compactions,
        correct=next(passed, None),
    )


def _kinds(found: Collection[ToolKind]) -> list[ToolKind]:
    """Those that were found, in the order of all."""
    # Many short sessions call nothing.
    return [kind for kind in ToolKind if kind in found] if found else []


def _slowest(steps: Sequence[Step]) -> Iterator[SlowCall]:
    timed = []
    for number, step in enumerate(steps):
        seconds = call_seconds(step)
        if seconds is not None:
            timed.append((seconds, -number, step))
    for seconds, _, step in nlargest(SLOWEST, timed, key=lambda item: item[:2]):
        if isinstance(step.event, ToolCall):
            yield SlowCall(step.anchor, step.event.tool, seconds, step.event.summary)


def call_seconds(step: Step) -> float | None:
    """How long a call took, as the CLI says, else as its times do; None where nothing tells."""
    if not isinstance(step.event, ToolCall) or step.result is None:
        return None
    told = size(step.result.seconds)
    if told is not None:
        return told
    start, end = step.event.at, step.result.at
    return max(0.0, (end - start).total_seconds()) if start and end else None


def _told(transcript: Transcript) -> dict[ToolKind, float]:
    """Seconds of the main agent's calls where rows have no times, as far as the CLI tells them."""
    found: dict[ToolKind, float] = {}
    for step in transcript.main.steps:
        seconds = call_seconds(step)
        if seconds is not None and isinstance(step.event, ToolCall):
            kind = step.event.tool_kind
            found[kind] = found.get(kind, 0.0) + seconds
    return found


def _context(transcript: Transcript) -> tuple[tuple[ContextSize, ...], tuple[Compaction, ...]]:
    sizes: list[ContextSize] = []
    compactions: list[Compaction] = []
    for step in transcript.main.steps:
        at = step.elapsed
        if isinstance(step.event, Notice) and step.event.topic is Topic.COMPACTION:
            compactions.append(Compaction(step.anchor, at, len(sizes)))
        if step.usage.sent is not None:
            sizes.append(ContextSize(step.anchor, at, step.usage.sent))
    return tuple(sizes), tuple(compactions)


class _Work(Struct):
    """Seconds of the main agent, each counted once."""

    tools: dict[ToolKind, float]
    model: float = 0.0
    idle: float = 0.0

    @property
    def span(self) -> float:
        return sum(self.tools.values()) + self.model + self.idle


class _Open(Struct, frozen=True, order=True):
    """A call while it runs; the one that began first comes first."""

    start: float
    number: int
    end: float
    kind: ToolKind


def _work(transcript: Transcript) -> _Work | None:
    """Where the main agent's time went; None where fewer than two rows have a time."""
    calls, marks = _timeline(transcript)
    bounds = sorted({*marks, *(c.start for c in calls), *(c.end for c in calls)})
    if len(bounds) < 2:
        return None
    found = _Work({})
    waiting, running = sorted(calls, reverse=True), list[_Open]()
    for start, end in pairwise(bounds):
        while waiting and waiting[-1].start <= start:
            heappush(running, waiting.pop())
        while running and running[0].end <= start:
            heappop(running)
        if running:
            kind = running[0].kind
            found.tools[kind] = found.tools.get(kind, 0.0) + end - start
            continue
        if marks.get(end):
            found.model += end - start
        else:
            found.idle += end - start
    return found


def _timeline(transcript: Transcript) -> tuple[list[_Open], dict[float, bool]]:
    """The calls with a time, and the moments of other rows: whether the model spoke there."""
    calls: list[_Open] = []
    marks: dict[float, bool] = {}
    had_its_say = False
    for number, step in enumerate(transcript.main.steps):
        at, speaks = step.elapsed, _speaks(step)
        if speaks is None and had_its_say and _is_told(step):
            # Until the CLI told the model something, such as that a task has ended, it waited.
            speaks = False
        if at is None or speaks is None:
            continue
        had_its_say = speaks and isinstance(step.event, Message)
        marks[at] = marks.get(at, False) or speaks
        if isinstance(step.event, ToolCall):
            end = _end(step, at)
            calls.append(_Open(at, number, end, step.event.tool_kind))
    return calls, marks


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


def _speaks(step: Step) -> bool | None:
    """Whether a row is the model's; None for one that says nothing of who was at work."""
    match step.event:
        case Thought() | ToolCall() | Message(role=Role.ASSISTANT, injected=False):
            return True
        case Message(role=Role.USER, injected=False) | Notice():
            return False
        case _:
            return None
