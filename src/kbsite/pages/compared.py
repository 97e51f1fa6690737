"""What the page that compares runs needs of one run, as a script that hands it over.

A script, because from disk a page can load nothing else. It holds one call with one value, whose
keys are all ours, in ASCII and without a character that HTML knows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TypeVar

from msgspec import Struct, field

from kbsite.model.board import Attempt
from kbsite.model.event import ToolCall, ToolKind
from kbsite.model.run import Run
from kbsite.model.trajectory import Point, PointKind, Trajectory
from kbsite.model.transcript import Step, Transcript
from kbsite.pages import facts
from kbsite.pages.costs import in_words
from kbsite.pages.listing import packed
from kbsite.pages.page import File, Site, attempt_of, compared_path, run_key
from kbsite.store.run_folders import SOLUTION, TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.text import visible
from kbsite.trajectories.phases import Milestone, Phase, milestones, phased_calls

SHARE = 0.02
"""How large it may be, beside its transcript."""

LEAST = 4_000
"""Bytes that it may always have, solution.py not counted."""

LONGEST_SOLUTION = 400_000
"""Characters of solution.py from which it is told to be too long to be compared."""

_FITS = (
    (100, 3000, 300), (60, 3000, 150), (36, 900, 60), (36, 200, 60), (24, 60, 30), (16, 16, 12),
    (0, 2, 6),
)  # fmt: skip
"""Characters of a summary, calls of a phase, points of a curve: tried until it is small enough."""

_MOST = max(calls for _, calls, _ in _FITS)

T = TypeVar("T")

Row = list[object]
"""A row of the data: texts, numbers, None."""

TOKENS = 60
"""Points of the curve of tokens, at most: each message is one, and more cannot be told apart."""


def compared(
    site: Site, stored: StoredRun, shown: Transcript | None, told: Trajectory | None
) -> Iterator[File]:
    """The script of a run; none for one that nothing on its board can be compared with."""
    if stored.run.id not in site.rivals:
        return
    found = milestones(shown, told) if shown and told else {}
    data = _head(site, stored, shown, told)
    data["phases"] = [_milestone(found.get(phase)) for phase in Phase]
    if shown is None or told is None:
        text = script(data)
    else:
        room = int(_size(stored, shown) * SHARE)
        text = _fitting(data, _phased(phased_calls(shown, found)), told, room)
    yield File(compared_path(stored.run.id), text)


def _fitting(
    data: Mapping[str, object],
    phased: Sequence[_OfPhase],
    told: Trajectory,
    room: int,
) -> str:
    """The script with calls and curves beside the rest: as much of them as there is room for."""
    text, room = "", max(room, LEAST)
    for number, (length, calls, points) in enumerate(_FITS):
        listed = list(_calls(phased, told, length, calls))
        text = script({**data, "calls": listed, "curves": _curves(told, points)})
        if len(text) > room and not number:
            # How long the rest is counts only where all of it is long.
            room = max(room, len(script(data)) + LEAST)
        if len(text) <= room:
            break
    return text


def _size(stored: StoredRun, shown: Transcript) -> int:
    """Bytes of the files that a transcript was read from."""
    names = {f"{TRANSCRIPT}{name}" for name in shown.files}
    return sum([file.size for file in stored.files if file.name in names])


def script(data: Mapping[str, object]) -> str:
    """A script that hands `data` over, harmless wherever its text may stand."""
    return f"kbsiteRun({packed(data)});\n"


def _head(
    site: Site, stored: StoredRun, shown: Transcript | None, told: Trajectory | None
) -> dict[str, object]:
    run, attempt = stored.run, attempt_of(stored)
    return {
        "id": run_key(run.id),
        "label": visible(label(site, run)),
        "problem": run.problem,
        "facts": [[name, visible(value)] for name, value in _facts(site, attempt, shown, told)],
        "budget": _number(run.budget_seconds),
        "solution": _solution(stored),
    }


def label(site: Site, run: Run) -> str:
    """What tells a run from the others of its problem: contender, and which attempt it is."""
    number, count = site.places[run.id]
    return run.contender.label + (f", attempt {number} of {count}" if count > 1 else "")


def _spent(site: Site, run: Run, shown: Transcript | None) -> Iterator[tuple[str, str]]:
    """Tokens and cost, those that are lower bounds as such."""
    usage = shown.usage if shown and shown.usage.known else run.usage
    few = shown is not None and shown.lower_bound
    least = few and usage is not run.usage
    yield "tokens sent", _tokens(usage.sent, least=least)
    yield "tokens generated", _tokens(usage.output, least=least)
    yield "cost", in_words(site.cost(run, shown), few=few) or "unknown"


def _tokens(count: int | None, *, least: bool) -> str:
    return ("at least " if least and count is not None else "") + facts.count(count)


def _facts(
    site: Site, attempt: Attempt, shown: Transcript | None, told: Trajectory | None
) -> Iterator[tuple[str, str]]:
    """Names and values: the same names in the same order for every run."""
    run, metrics, audit = attempt.run, attempt.metrics, attempt.audit
    taken_out = "" if attempt.counts else " (does not count: see the verdict)"
    yield "score", (facts.score(attempt.score) or "none") + taken_out
    yield "interval", _interval(attempt)
    yield "status", f"{metrics.status.glyph} {metrics.status.label}"
    yield "verdict", f"{audit.verdict.glyph} {audit.verdict.value}" if audit else "not audited"
    yield "time", facts.duration(run.elapsed_seconds)
    yield "budget", facts.duration(run.budget_seconds)
    yield "ended", run.end_reason.sentence
    yield from _seen(told)
    yield "calls", facts.count(shown.kinds.get("call", 0) if shown else None)
    yield from _spent(site, run, shown)
    yield "model", run.model
    yield "effort", run.effort or "not asked for"
    yield "harness", f"{run.harness} {run.harness_version or '(version unknown)'}"
    yield "hardware", run.hardware or "unknown"
    yield "started", facts.moment(run.started)


def _interval(attempt: Attempt) -> str:
    interval = attempt.metrics.interval
    if attempt.score is None or interval is None:
        return "none"
    return facts.interval(interval)


def _seen(told: Trajectory | None) -> Iterator[tuple[str, str]]:
    """What the agent itself saw of how good its solution was."""
    best = told.best if told else None
    correct = told.signs.correct if told else None
    yield "best score that the agent saw", facts.score(best.score) if best else "none"
    at = correct.elapsed if correct else None
    unknown = "not seen" if correct is None else "unknown"
    yield "first correct", unknown if at is None else facts.elapsed(at)


def _solution(stored: StoredRun) -> str | None:
    """solution.py; None where there is none, or where it is too long to be compared."""
    file = stored.file(SOLUTION)
    if file is None or file.size > LONGEST_SOLUTION:
        return None
    return visible(file.read().decode("utf-8", "surrogateescape"))


def _milestone(found: Milestone | None) -> Row | None:
    return None if found is None else [found.anchor, _moment(found.elapsed)]


class _Called(Struct, frozen=True):
    """What is told of a call."""

    anchor: str
    kind: ToolKind
    told: str
    elapsed: float | None
    failed: bool


class _OfPhase(Struct):
    """The calls of a phase: no more of them than may be told."""

    phase: Phase
    first: list[_Called] = field(default_factory=list)
    last: deque[_Called] = field(default_factory=lambda: deque(maxlen=_MOST // 2))
    count: int = 0

    def take(self, call: _Called) -> None:
        self.count += 1
        if len(self.first) <= _MOST // 2:
            self.first.append(call)
        else:
            self.last.append(call)

    def told(self, most: int) -> tuple[list[_Called], int, list[_Called]]:
        """At most so many, from both ends, with how many are left out between them."""
        held = [*self.first, *self.last]
        if self.count <= most + 1:
            return held, 0, []
        return held[: most // 2], self.count - most, held[len(held) - most + most // 2 :]


def _phased(calls: Iterable[tuple[Phase, Step]]) -> list[_OfPhase]:
    found: dict[Phase, _OfPhase] = {}
    for phase, step in calls:
        held = found.get(phase)
        if held is None:
            held = found[phase] = _OfPhase(phase)
        held.take(_called(step))
    return list(found.values())


def _called(step: Step) -> _Called:
    call, result = step.event, step.result
    assert isinstance(call, ToolCall)
    failed = result is not None and result.failed
    told = (call.summary or call.tool)[: _LOOKED_AT * _FITS[0][0]]
    return _Called(step.anchor, call.tool_kind, told, step.elapsed, failed)


_LOOKED_AT = 4
"""How many times as long a text may be as the line that is made of it."""


def _calls(phased: Sequence[_OfPhase], told: Trajectory, length: int, most: int) -> Iterator[Row]:
    """The main agent's calls: phase, kind, anchor, seconds, summary, 1 if it failed.

    Of a phase with more than `most`, those in the middle are left out, and told by their number.
    """
    points = {point.anchor: point for point in told.points if point.kind is not PointKind.SUBMIT}
    for held in phased:
        number = list(Phase).index(held.phase)
        first, left_out, last = held.told(most)
        yield from ([number, *_call(one, points.get(one.anchor), length)] for one in first)
        if left_out:
            yield [number, "more", "", None, str(left_out), 0]
        yield from ([number, *_call(one, points.get(one.anchor), length)] for one in last)


def _call(call: _Called, point: Point | None, length: int) -> Row:
    told = call.told
    if point is not None and point.kind is PointKind.BENCHMARK:
        told = f"{point.text}: {told}"
    at = _moment(call.elapsed)
    return [_kind(call, point), call.anchor, at, _line(told, length), int(call.failed)]


def _kind(call: _Called, point: Point | None) -> str:
    """What a call did: to the solution where it did something to it, else by its tool."""
    match point:
        case Point(kind=PointKind.EDIT):
            return "solution"
        case Point(kind=PointKind.CHECK, passed=passed):
            return "passed" if passed else "failed"
        case Point(kind=PointKind.BENCHMARK):
            return "benchmark"
        case _:
            return call.kind.value


def _line(text: str, length: int) -> str:
    """The start of a text, on one line."""
    line = " ".join(visible(text[: _LOOKED_AT * length]).split())
    return line if len(line) <= length else f"{line[: max(0, length - 1)]}…"


def _curves(told: Trajectory, most: int) -> dict[str, list[Row]]:
    """Values over time: [seconds, value], for scores [seconds, score, anchor, 1 if graded].

    Scores of solutions that their check rejected are none to compare.
    """
    timed = [point for point in told.points if point.elapsed is not None]
    tokens = _thinned(told.spent, min(most, TOKENS))
    return {
        "score": _scores([p for p in timed if p.score is not None and not p.rejected], most),
        "tokens": [[_moment(at), spent] for at, spent in tokens],
        "edits": _thinned(_counts(timed, PointKind.EDIT), most),
        "checks": _thinned(_counts(timed, PointKind.CHECK), most),
    }


def _scores(points: Sequence[Point], most: int) -> list[Row]:
    """The scores, thinned; the best one is always among them, at the end if need be."""
    rows: list[Row] = [
        [_moment(p.elapsed), _score(p.score), p.anchor, int(p.kind is PointKind.SUBMIT)]
        for p in points
    ]
    best = max((_score(p.score) or 0.0 for p in points), default=0.0)
    kept = _thinned(rows, most)
    return kept + [row for row in rows if row[1] == best and row not in kept][:1]


def _counts(points: Iterable[Point], kind: PointKind) -> list[Row]:
    """How many points of a kind there were by then."""
    ours = (point for point in points if point.kind is kind)
    return [[_moment(point.elapsed), number] for number, point in enumerate(ours, start=1)]


def _thinned(rows: Collection[T], most: int) -> list[T]:
    """At most so many rows, the first and the last among them."""
    last = len(rows) - 1
    if last < most:
        return list(rows)
    chosen = {round(n * last / (most - 1)) for n in range(most)}
    return [row for number, row in enumerate(rows) if number in chosen]


def _score(value: float | None) -> float | int | None:
    """A score with more digits than any page writes of it: rounded twice it would be another.

    What is less than one does not become one: pages call nothing whole that is not.
    """
    held = _number(value, 7)
    return 0.999999 if held == 1 and value is not None and value < 1 else held


def _moment(seconds: float | None) -> float | int | None:
    """A moment in few digits, of which the whole seconds, which pages tell, are those that it has.

    A second that was not over yet, but for rounding, has not come.
    """
    held = _number(seconds)
    if held is None or seconds is None or int(held) == int(seconds):
        return held
    return int(seconds) if abs(seconds) >= 1000 else int(seconds * 1000) / 1000


def _number(value: float | None, digits: int = 4) -> float | int | None:
    """A number as JSON holds it, in few digits; None for what is none."""
    if value is None or not isfinite(value):
        return None
    held = float(f"{value:.{digits}g}") if abs(value) < 1000 else round(value)
    return int(held) if held == int(held) else held
