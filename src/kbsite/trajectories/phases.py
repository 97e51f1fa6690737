"""The phases of a session: what an agent did between one first time and the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, combinations, pairwise

from msgspec import Struct

from kbsite.model.event import ToolCall, ToolKind
from kbsite.model.trajectory import PointKind, Trajectory
from kbsite.model.transcript import Step, Transcript


class Phase(Enum):
    """What a phase starts with, in the order in which most sessions come to it."""

    START = "start"
    READ = "first read"
    EDIT = "first edit of solution.py"
    CHECK = "first check"
    CORRECT = "first correct"
    BEST = "best score"
    END = "end"


class Milestone(Struct, frozen=True):
    """The step that a phase starts with."""

    anchor: str
    elapsed: float | None


def milestones(transcript: Transcript, told: Trajectory) -> dict[Phase, Milestone]:
    """Where each phase starts; without those that the session never came to.

    A benchmark counts as a check too, and the best score is the best that the agent itself saw.
    """
    firsts: dict[Phase, Milestone] = {}
    steps = transcript.main.steps
    if steps:
        # What a CLI keeps at the top of a file may have no time.
        first = next((step for step in steps if step.elapsed is not None), steps[0])
        firsts[Phase.START] = Milestone(first.anchor, first.elapsed)
    read = next((step for step in steps if _reads(step)), None)
    if read is not None:
        firsts[Phase.READ] = Milestone(read.anchor, read.elapsed)
    for point in told.points:
        phase = _PHASES[point.kind]
        firsts.setdefault(phase, Milestone(point.anchor, point.elapsed))
    for phase, found in ((Phase.CORRECT, told.signs.correct), (Phase.BEST, told.best)):
        if found is not None:
            firsts[phase] = Milestone(found.anchor, found.elapsed)
    return {phase: firsts[phase] for phase in Phase if phase in firsts}


_PHASES = {
    PointKind.EDIT: Phase.EDIT,
    PointKind.CHECK: Phase.CHECK,
    PointKind.BENCHMARK: Phase.CHECK,
    PointKind.SUBMIT: Phase.END,
}


def _reads(step: Step) -> bool:
    call = step.event
    return isinstance(call, ToolCall) and call.tool_kind in (ToolKind.READ, ToolKind.SEARCH)


def phased_calls(
    transcript: Transcript, found: Mapping[Phase, Milestone]
) -> Iterator[tuple[Phase, Step]]:
    """The main agent's calls with their phases, which never go back.

    Where a session came to things in another order than most, the milestones that stand in order
    split it, as many as possible; the others only tell when they were. What a sub-agent did first
    stands at the call that started the sub-agent.
    """
    starts = _starts(transcript, found)
    phase = Phase.START
    for number, step in enumerate(transcript.main.steps):
        while starts and starts[0][0] <= number:
            phase = starts.pop(0)[1]
        if isinstance(step.event, ToolCall):
            yield phase, step


def _starts(transcript: Transcript, found: Mapping[Phase, Milestone]) -> list[tuple[int, Phase]]:
    places: dict[str, int] = {}
    wanted = {milestone.anchor for milestone in found.values()}
    for number, step in enumerate(transcript.main.steps):
        below = chain.from_iterable(agent.every_step for agent in step.agents)
        places.update((one.anchor, number) for one in (step, *below) if one.anchor in wanted)
    at = [
        (places[milestone.anchor], phase)
        for phase, milestone in found.items()
        if phase is not Phase.END and milestone.anchor in places
    ]
    return _in_order(at)


def _in_order(at: Sequence[tuple[int, Phase]]) -> list[tuple[int, Phase]]:
    """The longest choice of places that never go back; of equals, the one that starts first."""
    for size in range(len(at), 0, -1):
        held = [list(chosen) for chosen in combinations(at, size) if _never_goes_back(chosen)]
        if held:
            return min(held, key=_places)
    return []


def _never_goes_back(chosen: Sequence[tuple[int, Phase]]) -> bool:
    return all(one[0] <= other[0] for one, other in pairwise(chosen))


def _places(chosen: list[tuple[int, Phase]]) -> list[int]:
    return [place for place, _ in chosen]
