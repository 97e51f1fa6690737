"""How a solution came about, for a reader in a hurry: each change of it, and each new score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kbsite.model.trajectory import Point, PointKind, Trajectory
from kbsite.model.transcript import Transcript

SAME = 0.005
"""Part of a score by which it may change and still be told as the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A step that changed solution.py, or that told something new of it."""

    point: Point
    address: str
    """Where it stands, as `quote` takes it: "transcript/stdout.jsonl@L12"."""
    gain: float | None = None
    """How far a score is from the one before; None for the first, and for what is no score."""
    lines: int | None = None
    """Lines of solution.py after a change; None where its text is not known."""
    grown: int | None = None
    """How many more that is than before."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of a run, in order."""

    held: tuple[Move, ...]
    repeats: int
    """Checks and benchmarks that are left out, since they say what the one before said."""


def moves(told: Trajectory, shown: Transcript) -> Moves:
    """The moves that a trajectory tells of, each with its address in the transcript."""
    files = addresses(shown)
    new = list(_new(told.points))
    lines = [None if state.content is None else _count(state.content) for state in told.states]
    held = [
        Move(
            point=point,
            address=f"{files.get(point.anchor, 'transcript/')}@{point.anchor}",
            gain=gain,
            **_size(point, lines),
        )
        for point, gain in new
    ]
    return Moves(tuple(held), len(told.points) - len(held))


def addresses(shown: Transcript) -> dict[str, str]:
    """The file of the run that each step of a transcript stands in, by the step's anchor."""
    return {
        step.anchor: f"transcript/{step.event.source.file}"
        for agent in shown.agents
        for step in agent.every_step
    }


def _new(points: Sequence[Point]) -> Iterator[tuple[Point, float | None]]:
    """The points that tell something, each with how far its score is from the one before."""
    passed: bool | None = None
    before: dict[str, float] = {}
    for point in points:
        unit, figure = _figure(point)
        last = before.get(unit)
        gain = None if figure is None or last is None else figure - last
        turned = point.passed is not None and point.passed is not passed
        if turned or _tells(point, figure, gain):
            yield point, gain
        passed = passed if point.passed is None else point.passed
        if figure is not None and not point.rejected:
            before[unit] = figure


def _figure(point: Point) -> tuple[str, float | None]:
    return ("score", point.score) if point.score is not None else ("speedup", point.speedup)


def _tells(point: Point, figure: float | None, gain: float | None) -> bool:
    """Whether a point tells something, beside whether the solution passed."""
    match point.kind:
        case PointKind.EDIT | PointKind.SUBMIT:
            return True
        case PointKind.CHECK:
            return False
        case PointKind.BENCHMARK:
            # Without a figure, only its words tell what it said.
            return figure is None or gain is None or abs(gain) > SAME * abs(figure)


def _size(point: Point, lines: Sequence[int | None]) -> dict[str, int | None]:
    if point.kind is not PointKind.EDIT or point.state is None:
        return {}
    now = lines[point.state]
    before = lines[point.state - 1] if point.state else 0
    return {"lines": now, "grown": None if now is None or before is None else now - before}


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))
