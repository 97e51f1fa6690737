"""Trajectories: what a transcript tells of how its run came to the solution."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.model.status import Status
from kbsite.model.trajectory import Point, PointKind, SolutionState, Trajectory
from kbsite.model.transcript import Transcript
from kbsite.model.usage import of_run
from kbsite.trajectories.printed import Printed
from kbsite.trajectories.scores import scores
from kbsite.trajectories.solutions import solution_states
from kbsite.trajectories.times import LONGEST, Moment, moments, size
from kbsite.trajectories.vitals import vital_signs

SILENT_SECONDS = 10
"""Seconds that no row tells of which are worth a word: to be ended takes some."""


def trajectory(transcript: Transcript, run: Run, metrics: Metrics | None = None) -> Trajectory:
    """How a run came to its solution; `metrics` is its grade, where it has one."""
    steps = moments(transcript)
    cwd = transcript.session.cwd if transcript.session else ""
    states = solution_states(steps, cwd)
    points = list(_points(steps, states))
    end = _end(transcript, run)
    if steps:
        last = _submitted(transcript, steps, metrics, end)
        points.append(replace(last, state=len(states) - 1 if states else None))
    signs, spent = vital_signs(transcript, steps, points), _Spent(steps)
    signs = replace(
        signs, usage=of_run(transcript.usage, run.usage), silent=_silent(transcript, run)
    )
    return Trajectory(
        points=tuple(points),
        states=states,
        spent=spent if transcript.aside else tuple(spent),
        signs=signs,
        budget=run.budget_seconds,
        end=end,
    )


def _end(transcript: Transcript, run: Run) -> float | None:
    # An importer has only the transcript's moments, the first of which may be late.
    recorded = size(run.elapsed_seconds if transcript.late else run.clocked_seconds)
    if recorded is not None:
        return recorded
    if transcript.first is None or transcript.last is None or transcript.late:
        return None
    return (transcript.last - transcript.first).total_seconds()


def _silent(transcript: Transcript, run: Run) -> float | None:
    """Seconds before the end of a session that was cut of which no row tells; None for few."""
    if transcript.finish is not None or transcript.last is None or run.ended is None:
        return None
    seconds = (run.ended - transcript.last).total_seconds()
    return seconds if SILENT_SECONDS <= seconds <= LONGEST else None


class _Spent(Collection[tuple[float, int | None]]):
    """When the main agent's messages had taken how many tokens, told whenever it is asked."""

    def __init__(self, steps: Collection[Moment]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[tuple[float, int | None]]:
        last = None
        for moment in self._steps:
            if moment.elapsed is not None and moment.tokens != last:
                yield moment.elapsed, moment.tokens
                last = moment.tokens

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, told: object) -> bool:
        return any(told == one for one in self)


def _points(steps: Collection[Moment], states: Sequence[SolutionState]) -> Iterator[Point]:
    changed: dict[str, list[int]] = {}
    for number, state in enumerate(states):
        changed.setdefault(state.anchor, []).append(number)
    current: int | None = None
    failed = False
    printed = Printed()
    for moment in steps:
        for number in changed.get(moment.step.anchor, ()):
            current, failed = number, False
            yield replace(
                _point(moment, PointKind.EDIT, states[number].text, current), at=states[number].at
            )
        for point in _scored(moment, printed.by(moment.step)):
            if point.kind is PointKind.CHECK:
                failed = point.passed is False
            rejected = failed and point.kind is PointKind.BENCHMARK
            yield replace(point, state=current, rejected=rejected)


def _point(moment: Moment, kind: PointKind, text: str, state: int | None = None) -> Point:
    return Point(
        kind=kind,
        anchor=moment.step.anchor,
        at=moment.end,
        elapsed=moment.elapsed,
        tokens=moment.tokens,
        used=moment.used,
        text=text,
        state=state,
    )


def _scored(moment: Moment, output: str) -> Iterator[Point]:
    """What checks and benchmarks said in what commands printed."""
    for score in scores(output):
        yield replace(
            _point(moment, score.kind, score.text),
            passed=score.passed,
            score=score.peak,
            speedup=score.speedup,
        )


def _submitted(
    transcript: Transcript, steps: Collection[Moment], metrics: Metrics | None, end: float | None
) -> Point:
    """The end of the session, with its grade."""
    moment, over = _last(transcript, steps)
    known = [moment.elapsed, end if moment.elapsed is None or not transcript.finish else None]
    # A session that was cut tells nothing of its end, which may be long after its last row.
    elapsed = max((one for one in known if one is not None), default=None)
    point = replace(
        _point(moment, PointKind.SUBMIT, "the session ended"),
        elapsed=elapsed,
        tokens=over.tokens,
        used=over.used,
    )
    if metrics is None or not metrics.status.attempted:
        return point
    passed = metrics.status is Status.PASSED
    score = metrics.peak_fraction if passed else None
    text = f"the session ended; graded: {metrics.status.label}"
    return replace(point, passed=passed, score=score, text=text)


def _last(transcript: Transcript, steps: Iterable[Moment]) -> tuple[Moment, Moment]:
    """The moment at which the session ended, and the one that comes last."""
    own, finish = transcript.main.steps, transcript.finish
    # What only ended a turn, and was gone on after, is no end.
    ends = (step for step in reversed(own if finish else ()) if step.event == finish)
    last = next(ends, None)
    moment = None
    for over in steps:
        # Files of one agent follow each other as they are called, not as they were written.
        is_own = over.step.event.agent == ""
        if is_own if last is None else over.step.anchor == last.anchor:
            moment = over
    return moment or over, over
