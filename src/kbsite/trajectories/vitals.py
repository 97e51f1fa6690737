"""Where the time and the tokens of a transcript went."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest

from msgspec import Struct, field

from kbsite.model.event import Event, Notice, ToolCall, ToolKind, Topic
from kbsite.model.trajectory import Compaction, ContextSize, Point, PointKind, SlowCall, VitalSigns
from kbsite.model.transcript import FileDiff, Step, Transcript
from kbsite.on_demand import OnDemand
from kbsite.trajectories.activity import activity_of
from kbsite.trajectories.solutions import is_solution
from kbsite.trajectories.times import Moment, size

SLOWEST = 10
"""Number of calls that are told as the slowest."""


def vital_signs(
    transcript: Transcript, all_moments: Iterable[Moment], points: Sequence[Point]
) -> VitalSigns:
    """Where the time and the tokens of a transcript went."""
    work = activity_of(transcript)
    tools = work.tools if work else _told(transcript)
    edits = [point.anchor for point in points if point.kind is PointKind.EDIT]
    tally = _Tally(set(edits), edits[0] if edits else "")
    slowest = tuple(_slowest(tally.counted(all_moments)))
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
        silent=None,
        idle=idle,
        tools={kind: round(tools[kind], 6) for kind in _kinds(tools)},
        calls={kind: tally.calls[kind] for kind in _kinds(tally.calls)},
        failed=tally.failed,
        retries=tally.retries,
        edits=sum(point.kind is PointKind.EDIT for point in points),
        added=tally.added,
        removed=tally.removed,
        unclear=tally.unclear,
        slowest=slowest,
        usage=transcript.usage,
        context=context,
        compactions=compactions,
        correct=next(passed, None),
    )


def _kinds(found: Collection[ToolKind]) -> list[ToolKind]:
    """Those that were found, in the order of all."""
    # Many short sessions call nothing.
    return [kind for kind in ToolKind if kind in found] if found else []


class _Tally(Struct):
    """What is counted of the steps of all agents."""

    changed: set[str]
    """The steps that changed the solution."""
    first: str
    """The first of them, before which there was none that anything tells of."""
    calls: Counter[ToolKind] = field(default_factory=Counter)
    failed: int = 0
    retries: int = 0
    added: int = 0
    removed: int = 0
    unclear: int = 0

    def counted(self, moments: Iterable[Moment]) -> Iterator[Step]:
        """The steps of all moments, which are counted on the way."""
        for moment in moments:
            self._count(moment.step)
            yield moment.step

    def _count(self, step: Step) -> None:
        event, result = step.event, step.result
        if isinstance(event, ToolCall):
            self.calls[event.tool_kind] += 1
            # A command that outlived its call failed there, and not once more where that is told.
            self.failed += result is not None and result.failed
        elif isinstance(event, Notice):
            self.retries += event.topic is Topic.RETRY
        if step.anchor in self.changed:
            self._count_lines(step)

    def _count_lines(self, step: Step) -> None:
        ours = [diff for diff in step.diffs if is_solution(diff.path) and not diff.failed]
        self.added += sum(diff.added for diff in ours)
        self.removed += sum(diff.removed for diff in ours)
        self.unclear += not ours or any(self._is_unclear(step, diff) for diff in ours)

    def _is_unclear(self, step: Step, diff: FileDiff) -> bool:
        """Whether a change was more than its lines, for all that is known."""
        over = diff.action == "write" and step.anchor != self.first
        return over or diff.action == "unknown" or diff.untold or diff.everywhere


def _slowest(steps: Iterable[Step]) -> Iterator[SlowCall]:
    timed = (
        (seconds, -number, step)
        for number, step in enumerate(steps)
        if (seconds := call_seconds(step)) is not None
    )
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
    return max(0.0, (end - start).total_seconds() - step.leapt) if start and end else None


def _told(transcript: Transcript) -> dict[ToolKind, float]:
    """Seconds of the main agent's calls where rows have no times, as far as the CLI tells them."""
    found: dict[ToolKind, float] = {}
    for step in transcript.main.steps:
        seconds = call_seconds(step)
        if seconds is not None and isinstance(step.event, ToolCall):
            kind = step.event.tool_kind
            found[kind] = found.get(kind, 0.0) + seconds
    return found


def _context(transcript: Transcript) -> tuple[Sequence[ContextSize], tuple[Compaction, ...]]:
    sizes = _ContextSizes(transcript.main.steps)
    compactions: list[Compaction] = []
    for number, step in enumerate(transcript.main.steps):
        if _is_compaction(step.event):
            compactions.append(Compaction(step.anchor, step.elapsed, len(sizes)))
        if step.usage.sent is not None:
            sizes.append(number)
    return sizes if transcript.aside else tuple(sizes), tuple(compactions)


def _is_compaction(event: Event) -> bool:
    return isinstance(event, Notice) and event.topic is Topic.COMPACTION and not event.undone


class _ContextSizes(OnDemand[ContextSize]):
    """What the steps of some messages say, of which no more is in memory than their numbers."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._numbers = array("I")

    def append(self, number: int) -> None:
        """Take in the step that ends a message."""
        self._numbers.append(number)

    def __len__(self) -> int:
        return len(self._numbers)

    def made(self, number: int) -> ContextSize:
        """What the step of one of the messages says."""
        step = self._steps[self._numbers[number]]
        return ContextSize(step.anchor, step.elapsed, step.usage.sent or 0)
