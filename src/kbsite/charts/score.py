"""The score over time, as the agent itself saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import floor

from markupsafe import Markup
from msgspec import Struct

from kbsite.charts.drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    SLOT,
    TOP,
    WIDTH,
    Chart,
    Scale,
    amount,
    axes,
    clock,
    coordinate,
    element,
    label,
    line,
    link,
    path,
    picture,
    steps,
    steps_of_time,
    table,
)
from kbsite.model.counts import figure, number_of
from kbsite.model.trajectory import Point, PointKind, Trajectory
from kbsite.model.usage import Usage
from kbsite.text import plain
from kbsite.trajectories.times import LONGEST

Href = Callable[[str], str]
"""The address of a step by its anchor."""

StateHref = Callable[[int | None], str | None]
"""The address of the solution as it stood at a point, by `Point.state`; None where there is none.

Its last part, behind the last hyphen, is what a reader calls the state by."""

SoFar = Callable[[Usage], str]
"""What tokens cost, in words; empty where that cannot be told."""

_LANES = 44
"""Height of the two lanes below the plot: checks and edits."""

_TOKENS = 44
"""Height of the lane of tokens, below the other two."""

_MANY = 60
"""Points from which edits in a row are one row of the table."""

_TENTHS = 9.95
"""Seconds from which on a clock tells no tenths."""

_FAR = 3
"""Times the length of a session from which its budget lies beyond the picture: what was done in a
minute of 45 would stand in one place."""


def score_chart(
    trajectory: Trajectory,
    href: Href,
    state: StateHref | None = None,
    cost: str = "",
    so_far: SoFar | None = None,
) -> Chart | None:
    """Scores, checks, edits and tokens over time; None where the transcript tells of none.

    `cost` is what the session cost, in words, to stand at the end of the tokens.
    """
    if all(point.kind is PointKind.SUBMIT for point in trajectory.points):
        return None
    plot = _plot(trajectory)
    content = [
        *axes(plot.x, plot.y, plot.names),
        *_lanes(plot),
        *_budget(plot),
        *_grade(plot),
        path(_best(plot), "chart-best"),
        *_marks(plot),
        *_tokens(plot, _of_whole(trajectory, plot), cost),
    ]
    title = "Score over time, as the agent saw it"
    svg = picture(title, _description(trajectory, plot), content, _height(plot))
    return Chart(svg, _table(title, trajectory.points, href, state, so_far))


class _Plot(Struct, frozen=True):
    """Where everything stands."""

    points: Sequence[Point]
    at: Sequence[float]
    """Each point's coordinate along the axis of time."""
    x: Scale
    y: Scale
    names: tuple[list[str], list[str]]
    timed: bool
    budget: float | None

    @property
    def beyond(self) -> str:
        """The budget, in words, where it ends where nothing is drawn any more; else empty."""
        budget = self.budget or 0.0
        return clock(budget) if budget > self.x.high else ""


def _plot(trajectory: Trajectory) -> _Plot:
    points = trajectory.points
    times = [point.elapsed for point in points if point.elapsed is not None]
    timed = len(times) == len(points)
    budget = _budget_shown(trajectory) if timed else None
    if timed:
        width, count = steps_of_time(_shown(max(times, default=0.0), budget or 0.0))
        names = [clock(width * n) for n in range(count + 1)]
    else:
        # Without times the points stand in their order.
        times = [float(number) for number in range(len(points))]
        width, count = float(max(1, len(points) - 1)), 1
        names = ["first", "last"]
    x = Scale(width * count, LEFT, WIDTH - RIGHT)
    height, number = steps(max([p.score for p in points if p.score is not None], default=0.0))
    y = Scale(height * number, HEIGHT - BOTTOM, TOP)
    scores = [figure(height * n, 6) for n in range(number + 1)]
    return _Plot(points, [x.at(t) for t in times], x, y, (names, scores), timed, budget)


def _shown(last: float, budget: float) -> float:
    """Until when the picture goes: the budget's end, or the session's where that is far off."""
    return max(last, budget if budget <= _FAR * last or not last else 0.0)


def _budget_shown(trajectory: Trajectory) -> float | None:
    known = trajectory.budget or 0
    return known if 0 < known <= LONGEST else None


def _best(plot: _Plot) -> Iterator[str]:
    """The best score so far, as the steps of a path."""
    best = -1.0
    for point, x in zip(plot.points, plot.at, strict=True):
        score = point.valid_score
        if score is not None and score > best:
            y = coordinate(plot.y.at(score))
            yield f"M{coordinate(x)} {y}" if best < 0 else f"H{coordinate(x)} V{y}"
            best = score
    if best >= 0:
        yield f"H{coordinate(plot.at[-1])}"


def _lanes(plot: _Plot) -> Iterator[Markup]:
    for number, name in enumerate(("checks", "edits")):
        y = _lane(number)
        yield line((plot.x.start, plot.x.end), (y, y), "chart-grid")
        yield label(name, plot.x.start - 6, y + 4, anchor="end")


def _lane(number: int) -> float:
    return HEIGHT - 8 + 24 * number


def _height(plot: _Plot) -> int:
    return HEIGHT + _LANES + (_TOKENS if any(p.tokens for p in plot.points) else 0)


def _of_whole(trajectory: Trajectory, plot: _Plot) -> str:
    """How many tokens its main agent's messages tell of, "59.2k of 2.52M" if there were more.

    Sub-agents have tokens of their own, and not every CLI tells what each message took.
    """
    own = max((point.tokens or 0 for point in plot.points), default=0)
    whole = trajectory.signs.usage.tokens
    told = amount(own)
    return told if whole <= own or amount(whole) == told else f"{told} of {amount(whole)}"


def _tokens(plot: _Plot, told: str, cost: str) -> Iterator[Markup]:
    """The tokens that were sent and got until each point, as a curve in a lane of its own."""
    known = [(x, p.tokens) for p, x in zip(plot.points, plot.at, strict=True) if p.tokens]
    if not known:
        return
    most = max(tokens for _, tokens in known)
    y = Scale(most, HEIGHT + _LANES + 28, HEIGHT + _LANES - 4)
    yield line((plot.x.start, plot.x.end), (y.start, y.start), "chart-grid")
    yield label("tokens", plot.x.start - 6, y.start, anchor="end")
    drawn = {int(x // 2): f"L{coordinate(x)} {coordinate(y.at(tokens))}" for x, tokens in known}
    start = f"M{coordinate(plot.x.start)} {coordinate(y.start)}"
    yield path([start, *drawn.values()], "chart-tokens")
    words = ", ".join(filter(None, [told, cost]))
    end = known[-1][0]
    anchor = "end" if end > WIDTH / 2 else "start"
    yield label(words, end, y.start + 13, anchor=anchor)


def _budget(plot: _Plot) -> Iterator[Markup]:
    if plot.beyond:
        yield label(f"budget: {plot.beyond} →", plot.x.end - 4, plot.y.end + 10, anchor="end")
    elif plot.budget is not None:
        x = plot.x.at(plot.budget)
        yield line((x, x), (plot.y.start, plot.y.end), "chart-budget")
        yield label("budget", x - 4, plot.y.end + 10, anchor="end")


def _grade(plot: _Plot) -> Iterator[Markup]:
    point, x = plot.points[-1], plot.at[-1]
    if point.kind is not PointKind.SUBMIT:
        return
    if point.score is None:
        yield line((x, x), (plot.y.start, plot.y.end), "chart-end")
        return
    y = plot.y.at(point.score)
    yield line((plot.x.start, plot.x.end), (y, y), "chart-grade")
    diamond = f"M{coordinate(x)} {coordinate(y - 6)} l6 6 l-6 6 l-6 -6 z"
    yield _mark(point, diamond, "chart-graded")


def _marks(plot: _Plot) -> Iterator[Markup]:
    """One mark a point; of a kind, only the best one where several stand in the same place."""
    drawn: dict[tuple[str, int], tuple[Point, str]] = {}
    highest: dict[tuple[str, int], float] = {}
    for point, x in zip(plot.points, plot.at, strict=True):
        style, shape = _shape(plot, point, x)
        place = style, int(x // SLOT)
        if shape and (point.score or 0.0) >= highest.get(place, -1.0):
            drawn[place], highest[place] = (point, shape), point.score or 0.0
    for (style, _), (point, shape) in drawn.items():
        yield _mark(point, shape, style)


def _shape(plot: _Plot, point: Point, x: float) -> tuple[str, str]:
    """The class and the path of a point's mark; an empty path where it has none."""
    at = coordinate(x)
    match point.kind:
        case PointKind.BENCHMARK if point.score is not None:
            y = coordinate(plot.y.at(point.score))
            style = "chart-dot chart-fail" if point.rejected else "chart-dot"
            return style, f"M{at} {y} m-4 0 a4 4 0 1 0 8 0 a4 4 0 1 0 -8 0"
        case PointKind.CHECK if point.passed:
            return "chart-pass", f"M{at} {coordinate(_lane(0))} m-5 0 l4 4 l6 -9"
        case PointKind.CHECK:
            return "chart-fail", f"M{at} {coordinate(_lane(0))} m-4 -4 l8 8 m0 -8 l-8 8"
        case PointKind.EDIT:
            return "chart-edit", f"M{at} {coordinate(_lane(1))} m0 -6 v12"
        case _:
            return "", ""


def _mark(point: Point, shape: str, style: str) -> Markup:
    when = f"{_when(point.elapsed)} " if point.elapsed is not None else ""
    told = element("title", plain(f"{when}{point.text[:200]}{_REJECTED[point.rejected]}"))
    return element("path", told, d=shape, class_=style, data_anchor=point.anchor)


def _when(seconds: float) -> str:
    """A moment, as all that stands around the chart tells it: a second counts when it is over."""
    return clock(seconds if seconds < _TENTHS else floor(seconds))


def _description(trajectory: Trajectory, plot: _Plot) -> str:
    checks = [point for point in plot.points if point.kind is PointKind.CHECK]
    edits = sum(point.kind is PointKind.EDIT for point in plot.points)
    passed = sum(bool(point.passed) for point in checks)
    best = trajectory.best
    told = [
        f"{number_of(len(checks), 'check')}, {passed} of them passed, "
        f"{number_of(edits, 'change')} of the solution."
    ]
    if best is not None and best.score is not None:
        told.append(f"The best score that the agent saw is {figure(best.score)}.")
    tokens = _of_whole(trajectory, plot)
    if tokens != "0":
        told.append(f"Messages of the main agent tell of {tokens} tokens.")
    if plot.points[-1].score is not None:
        told.append(f"The grade is {figure(plot.points[-1].score)}.")
    return " ".join([*told, *_asides(plot)])


def _asides(plot: _Plot) -> Iterator[str]:
    """What is told of marks and of the axis of time, where they are not as one would expect."""
    rejected = sum(point.rejected for point in plot.points)
    if rejected:
        yield f"Scores after a check that failed, {rejected} of them, are drawn in red."
    if plot.beyond:
        yield f"The budget of {plot.beyond} ends far to the right of it."
    if not plot.timed:
        yield "The transcript tells no times: the points stand in their order."


def _table(
    title: str,
    points: Sequence[Point],
    href: Href,
    state: StateHref | None,
    so_far: SoFar | None,
) -> Markup:
    heads = ["when", "tokens of the main agent's messages", "what", "score", "told", "step"]
    held = list(_rows(points))
    rows = [_row(several, href) for several in held]
    if so_far is not None:
        heads.append("cost of these tokens, estimated")
        for row, several in zip(rows, held, strict=True):
            row.append(plain(so_far(several[-1].used)))
    if state is not None:
        heads.append("solution")
        for row, several in zip(rows, held, strict=True):
            row.append(_solution(state(several[-1].state)))
    return table(title, heads, rows)


def _rows(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The points of each row: where there are many, edits in a row stand together."""
    for edit, held in groupby(points, key=lambda point: point.kind is PointKind.EDIT):
        several = list(held)
        if edit and len(points) > _MANY:
            yield several
        else:
            yield from ([point] for point in several)


def _row(points: list[Point], href: Href) -> list[Markup]:
    last = points[-1]
    text = last.text if len(points) == 1 else f"{len(points)} changes"
    score = last.score if last.score is not None else last.speedup
    sign = "×" if last.score is None else ""
    return [
        plain("" if last.elapsed is None else _when(last.elapsed)),
        plain("" if last.tokens is None else amount(last.tokens)),
        plain(_WORDS[last.kind] + _SIGNS[last.passed] + _REJECTED[last.rejected]),
        plain("" if score is None else f"{figure(score)}{sign}"),
        plain(text[:200]),
        link(last.anchor, href(last.anchor)),
    ]


def _solution(address: str | None) -> Markup:
    """A link to the solution as it stood then; empty where nothing tells of it."""
    if address is None:
        return plain("")
    return link(f"state {address.rpartition('-')[2]}", address)


_SIGNS = {True: " ✓", False: " ✗", None: ""}
_REJECTED = {True: ", after a check that failed", False: ""}
_WORDS = {
    PointKind.CHECK: "check",
    PointKind.BENCHMARK: "benchmark",
    PointKind.EDIT: "edit",
    PointKind.SUBMIT: "end",
}
