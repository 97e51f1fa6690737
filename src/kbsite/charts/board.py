"""Charts of a board: drawings without script or style of their own, with their data in tables.

A drawing is one picture to a screen reader, named by its title; what it shows can be read, and its
runs opened, from the table. Colours are classes of static/board.css, and no colour says
anything that a shape, a word or a number does not say too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import TypeGuard

from markupsafe import Markup
from msgspec import Struct

from kbsite.charts.board_drawing import (
    EDGE,
    LETTER,
    LINE,
    RIGHT,
    Keep,
    Written,
    along,
    box,
    clipped,
    drawing,
    exact,
    legend,
    made_anew,
    safe,
    sign,
    telling,
    ticks,
    words,
    x_axis,
)
from kbsite.model.board import Attempt, Board, Column
from kbsite.model.counts import number_of
from kbsite.model.floor import FloorKind
from kbsite.model.run import Run

LEFT = 46
PLOT = 200
"""Height of a plot of points."""

SERIES = 8
"""Kinds of point that can be told from each other; there is a shape and a colour for each."""

LARGEST = 1e15
"""A value beyond it is damage, and is left out like one that nobody knows."""


class Entry(Struct, frozen=True):
    """What stands in a cell of a chart's table."""

    text: str
    run_id: str | None = None
    """The run whose page it leads to."""


class RunRows(Struct, frozen=True):
    """A row for each of some runs, made when it is asked for."""

    name: str
    """What they are called."""
    runs: Sequence[Attempt]
    row: Callable[[Attempt], tuple[Entry, ...]]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[tuple[Entry, ...]]:
        return map(self.row, self.runs)

    def __getitem__(self, number: int) -> tuple[Entry, ...]:
        return self.row(self.runs[number])


class BoardChart(Struct, frozen=True, kw_only=True):
    """A drawing, and the same as a table.

    Drawings of the same runs have one table, which is a chart without a drawing.
    """

    title: str
    note: str
    """What is drawn, and how much is left out."""
    drawing: Markup | None
    """None where there is nothing to draw."""
    heads: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...] | RunRows


class Measure(Struct, frozen=True, kw_only=True):
    """What a run took, to hold its score against."""

    name: str
    of: Callable[[Run], float | None]
    written: Written
    steps: tuple[int, ...] = (1, 2, 5)
    """Distances between ticks that read well, times a power of `base`."""
    base: int = 10
    ticked: tuple[Written, ...] = ()
    """How ticks are written where not as figures are: the first way that tells them apart."""
    marked: Callable[[Run], str] = lambda _: ""
    """What follows a run's figure, such as that it is an estimate."""

    def told(self, run: Run, value: float) -> str:
        """A run's figure, in words."""
        return f"{self.written(value)}{self.marked(run)}"


def peaks(board: Board, score: Written, keep: Keep = made_anew) -> BoardChart:
    """For each problem the way from the eager floor to the ceiling, and how far runs came on it.

    Where a metric of the board's own has no ceiling, the floors and the runs alone.
    """
    floors = {
        (row.kind, column.problem): held.peak_fraction
        for row in board.floors
        for column, held in zip(board.columns, row.floors, strict=True)
        if held is not None and is_known(held.peak_fraction)
    }
    scored = _by_problem(board)
    ceiling = 1.0 if board.config.in_shares else None
    top = _top(scored, floors.values(), ceiling)
    heads = ("problem", *(f"{kind.value} floor" for kind in FloorKind), "best", "contender", "runs")
    lines, rows = [], []
    for number, column in enumerate(board.columns):
        own = {kind: floors.get((kind, column.problem)) for kind in FloorKind}
        held = scored.get(column.problem, [])
        lines.append(_peak_line(number, column, own, held, (top, score, keep), ceiling))
        rows.append(_peak_row(column, own, len(held), score))
    title, note, span = _WITH_CEILING if ceiling else _WITHOUT
    bottom = 2 * LINE + len(rows) * _PEAK_LINE
    shown = [
        legend(0, [*span, ("bc-compiled", "compiled"), ("bc-library", "library")]),
        legend(1, [("bc-run", "a run"), ("bc-best", "the best")]),
        *lines,
        *x_axis(bottom, top, ticks(top, (1, 2, 5), 10), score, EDGE),
    ]
    unscored = board.run_count - sum(map(len, scored.values())) - _struck(board)
    return BoardChart(
        title=title,
        note=f"{note}; points are runs."
        f"{_beyond(board, scored)}"
        f"{_left_out(unscored, board.run_count, *_without('score'))}{_taken_out(board)}",
        drawing=drawing(title, bottom + 22, shown) if rows else None,
        heads=heads,
        rows=tuple(rows),
    )


_PEAK_LINE = 44
_WITH_CEILING = (
    "Scores between floor and ceiling",
    "A bar goes from the eager floor to 1, the ceiling",
    [("bc-span", "eager floor to ceiling")],
)
_FURTHER = "The further to the right, the better: no ceiling is known"
_WITHOUT: tuple[str, str, list[tuple[str, str]]] = ("Scores by problem", _FURTHER, [])


def _top(
    scored: dict[str, list[Attempt]], floors: Iterable[float | None], ceiling: float | None
) -> float:
    """Where the axis of scores ends: at the ceiling, or at what lies beyond it.

    A floor may: from a cache, or where work was counted too high.
    """
    reached = (attempt.score or 0 for held in scored.values() for attempt in held)
    most = max([ceiling or 0, *reached, *(held or 0 for held in floors)])
    return most if most > 0 else 1.0


def _beyond(board: Board, scored: dict[str, list[Attempt]]) -> str:
    """What is said of points beyond the best, where there are any."""
    for column in board.columns:
        best = column.best.score or 0 if column.best else -1
        if any((attempt.score or 0) > best for attempt in scored.get(column.problem, [])):
            return " One beyond the best is an attempt that does not stand for its cell."
    return ""


def _by_problem(board: Board) -> dict[str, list[Attempt]]:
    held: dict[str, list[Attempt]] = {}
    for _, column, cell in board.cells:
        scored = [attempt for attempt in cell.attempts if is_known(attempt.counted_score)]
        held.setdefault(column.problem, []).extend(scored)
    return held


def _peak_line(
    number: int,
    column: Column,
    floors: dict[FloorKind, float | None],
    scored: Sequence[Attempt],
    scale: tuple[float, Written, Keep],
    ceiling: float | None,
) -> Markup:
    (top, score, keep), y = scale, 2 * LINE + number * _PEAK_LINE
    # The board's own: an attempt that does not stand for its cell is a point, and nobody's best.
    best = column.best.run.id if column.best and is_known(column.best.score) else None
    told = "no best" if scored else "no score"
    if column.best and best:
        told = f"best {score(column.best.score or 0)}"
    pieces = [
        words(EDGE, y + 16, clipped(column.problem.replace("_", " "), RIGHT - EDGE - LETTER * 12)),
        words(RIGHT, y + 16, told, "bc-end bc-dim"),
        *_way(floors[FloorKind.EAGER], ceiling, top, y),
    ]
    for kind in (FloorKind.COMPILED, FloorKind.LIBRARY):
        value = floors[kind]
        if value is not None:
            pieces.append(box(along(value, top) - 1, y + 21, 2.5, 15, f"bc-{kind.value}"))

    def point(attempt: Attempt) -> str:
        value = attempt.score or 0
        shape = "bc-best" if attempt.run.id == best else "bc-run"
        return sign(shape, along(value, top), y + 28.5, said_of(attempt, score(value)))

    runs = sorted(scored, key=lambda held: held.score or 0)
    pieces.append(safe(keep(f"peaks-{number}", (top, y, best), runs, point)))
    return Markup("").join(pieces)


def _way(eager: float | None, ceiling: float | None, top: float, y: float) -> Iterator[Markup]:
    """The line of a problem, to the ceiling where there is one, and the way there from a floor."""
    end = along(ceiling or top, top)
    yield box(along(0, top), y + 28, end - along(0, top), 1, "bc-line")
    if ceiling and eager is not None and eager < ceiling:
        start = along(eager, top)
        yield box(start, y + 24, end - start, 9, "bc-span")


def _peak_row(
    column: Column, floors: dict[FloorKind, float | None], runs: int, score: Written
) -> tuple[Entry, ...]:
    best = column.best
    values = (floors[kind] for kind in FloorKind)
    return (
        Entry(column.problem),
        *(Entry("–" if value is None else score(value)) for value in values),
        Entry("–") if best is None else Entry(score(best.score or 0), best.run.id),
        Entry("–" if best is None else best.run.contender.label),
        Entry(str(runs)),
    )


def scatter(board: Board, measure: Measure, score: Written, keep: Keep = made_anew) -> BoardChart:
    """The scores against what the runs took; only of runs that have both on record."""
    points = _points(board, measure)
    title = f"Score against {measure.name}"
    missing = _left_out(
        board.run_count - len(points) - _struck(board),
        board.run_count,
        *_without(f"score or no {measure.name}"),
    )
    return BoardChart(
        title=title,
        note=f"Each point is a run: its {measure.name} to the right, its score upwards.{missing}"
        f"{_taken_out(board)}"
        if points
        else f"No run has both a score and its {measure.name} on record.",
        drawing=_plot(title, points, (measure, score, keep)) if points else None,
        heads=(),
        rows=(),
    )


def _points(board: Board, measure: Measure) -> list[tuple[Attempt, float, float]]:
    """The runs that have both, with what they took and their score."""
    return [
        (attempt, value, height)
        for attempt in board.attempts
        if is_known(height := attempt.counted_score) and is_known(value := measure.of(attempt.run))
    ]


def spent(board: Board, measures: Sequence[Measure], score: Written) -> BoardChart:
    """The table of what the runs took, a run a row; only of runs that are points of a scatter."""
    found = {measure.name: _points(board, measure) for measure in measures}
    shown = [measure for measure in measures if found[measure.name]]
    told = {attempt.run.id for points in found.values() for attempt, _, _ in points}
    runs = [one for one in board.attempts if one.run.id in told]

    def figure(run: Run, measure: Measure) -> Entry:
        value = measure.of(run)
        return Entry(measure.told(run, value) if is_known(value) else "–")

    def row(attempt: Attempt) -> tuple[Entry, ...]:
        run = attempt.run
        height = Entry(score(attempt.counted_score or 0), run.id)
        took = (figure(run, measure) for measure in shown)
        return Entry(run.contender.label), Entry(run.problem), height, *took

    return BoardChart(
        title="What runs took",
        note="The points above in figures, a run a row.",
        drawing=None,
        heads=("contender", "problem", "score", *(measure.name for measure in shown)),
        rows=RunRows("spent", runs, row),
    )


def _called(measure: Measure) -> str:
    return measure.name.replace(" ", "-")


def _plot(
    title: str,
    points: Sequence[tuple[Attempt, float, float]],
    way: tuple[Measure, Written, Keep],
) -> Markup:
    measure, score, keep = way
    named, series = _series([attempt.run for attempt, _, _ in points])
    head = LINE * len(series) + 14
    across = ticks(max(value for _, value, _ in points), measure.steps, measure.base)
    upwards = ticks(max(height for _, _, height in points), (1, 2, 5), 10)
    told = telling(upwards, score, exact)
    pieces = [legend(number, [(f"bc-s{number}", name)]) for number, name in enumerate(series)]
    for tick in upwards:
        y = head + PLOT * (1 - tick / upwards[-1])
        pieces += [
            box(LEFT, y - 0.5, RIGHT - LEFT, 1, "bc-line"),
            words(LEFT - 6, y + 4, told(tick), "bc-end bc-dim"),
        ]
    written = telling(across, *measure.ticked, measure.written, exact)
    pieces += x_axis(head + PLOT, across[-1], across, written, LEFT)

    def point(attempt: Attempt) -> str:
        value, height = measure.of(attempt.run) or 0, attempt.counted_score or 0
        shape = f"bc-s{series.index(named(attempt.run))}"
        x = LEFT + (RIGHT - LEFT) * value / across[-1]
        y = head + PLOT * (1 - height / upwards[-1])
        figures = f"{score(height)}, {measure.told(attempt.run, value)}"
        return sign(shape, x, y, said_of(attempt, figures))

    scale, runs = (series, across[-1], upwards[-1]), [attempt for attempt, _, _ in points]
    pieces.append(safe(keep(_called(measure), scale, runs, point)))
    return drawing(title, head + PLOT + 24, pieces)


def _series(runs: Sequence[Run]) -> tuple[Callable[[Run], str], list[str]]:
    """What points are told apart by: contender, or harness where there are too many of those."""
    ways: list[Callable[[Run], str]] = [
        lambda run: run.contender.label,
        lambda run: run.harness,
        lambda _: "a run",
    ]
    for way in ways:
        names = list(dict.fromkeys(way(run) for run in runs))
        if len(names) <= SERIES:
            break
    return way, names


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether a figure may be drawn: nobody measures less than nothing, nor beyond LARGEST."""
    return value is not None and isfinite(value) and 0 <= value <= LARGEST


def _left_out(count: int, of: int, one: str, several: str) -> str:
    """How many runs are not drawn, and why, as one run and as several say it."""
    if not count:
        return ""
    told = f"is left out: it {one}" if count == 1 else f"are left out: they {several}"
    return f" {count} of {number_of(of, 'run')} {told}."


def _without(what: str) -> tuple[str, str]:
    return f"has no {what} on record", f"have no {what} on record"


def _struck(board: Board) -> int:
    """Runs whose score a verdict takes out of the ranking."""
    return sum(is_known(one.score) and not one.counts for one in board.attempts)


def _taken_out(board: Board) -> str:
    return _left_out(_struck(board), board.run_count, *_STRUCK)


_STRUCK = ("is taken out by its verdict", "are taken out by their verdict")


def said_of(attempt: Attempt, told: str) -> str:
    """What a point says of a run."""
    run = attempt.run
    return f"{clipped(run.contender.label, 600)}, {clipped(run.problem, 400)}: {told}"
