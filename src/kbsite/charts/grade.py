"""The grade: shapes against ceiling and floors, and raw samples as strips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from kbsite.charts.drawing import (
    LEFT,
    RIGHT,
    WIDTH,
    Chart,
    Scale,
    coordinate,
    digits,
    element,
    label,
    line,
    path,
    picture,
    share,
    steps,
    table,
)
from kbsite.model.counts import between, figure, number_of
from kbsite.model.floor import Floor
from kbsite.model.grade import Metrics
from kbsite.model.samples import Spread
from kbsite.text import plain

SHAPES = 40
"""Shapes that are drawn; the table names more."""

STRIPS, ROUNDS = 12, 10
"""Shapes, and rounds of each, whose samples are drawn."""

_NAME = 60
"""Letters of a shape's name that fit above its samples."""

_NARROW, _SHORT = 420, 44
"""The width of the picture of shapes, and letters of a shape's name that fit above its bar."""

_ROW, _BAR, _MARGIN = 34, 10, 16
_STRIP = 13


def grade_plot(metrics: Metrics, floors: Sequence[Floor]) -> Markup | None:
    """Each shape's part of the ceiling beside the floors; None where nothing was measured."""
    shapes = [(s.shape, s.peak_fraction) for s in metrics.shapes if s.peak_fraction is not None]
    if not shapes and metrics.peak_fraction is None:
        return None
    known = [(f.kind.label, f.peak_fraction) for f in floors if f.peak_fraction is not None]
    values = [value for _, value in [*shapes, *known]]
    values += [metrics.peak_fraction or 0.0, *(metrics.interval or ())]
    width, count = steps(min(max(1.0, *values), 100.0))
    x = Scale(width * count, _MARGIN, _NARROW - RIGHT)
    drawn = shapes[:SHAPES]
    rows = [*drawn, ("all shapes", metrics.peak_fraction)]
    top = 20.0
    bottom = top + _ROW * len(rows)
    content = [
        *_axis(x, (width, count), (top, bottom)),
        *_bars(drawn, x, top),
        *_whole(metrics, x, bottom - _ROW),
        *_lines([("ceiling", 1.0), *known], x, (top, bottom)),
    ]
    # What is said is drawn over the lines that cross it.
    content.sort(key=lambda shape: shape.startswith("<text"))
    height = round(bottom + 24 + 16 * (len(known) + 1))
    title = "Share of the ceiling, by shape"
    return picture(title, _told(metrics, known, len(shapes)), content, height, _NARROW)


def _told(metrics: Metrics, known: Sequence[tuple[str, float]], shapes: int) -> str:
    told = [f"{number_of(shapes, 'shape')}."]
    if metrics.peak_fraction is not None:
        told.append(f"All together {figure(metrics.peak_fraction)}.")
    if metrics.interval:
        told.append(f"Interval {between(metrics.interval, figure)}.")
    return " ".join([*told, *(f"{name} {figure(value)}." for name, value in known)])


def _axis(x: Scale, ticks: tuple[float, int], y: tuple[float, float]) -> Iterator[Markup]:
    width, count = ticks
    for number in range(count + 1):
        at = x.at(width * number)
        yield line((at, at), y, "chart-grid" if number else "chart-axis")
        yield label(figure(width * number), at, 12)


def _bars(shapes: Sequence[tuple[str, float]], x: Scale, top: float) -> Iterator[Markup]:
    for number, (name, value) in enumerate(shapes):
        y = top + _ROW * number
        short = name if len(name) <= _SHORT else f"{name[:_SHORT]}…"
        yield label(f"{short}: {share(value)}", x.start + 4, y + 14, anchor="start")
        told = element("title", plain(f"{name[:200]}: {figure(value)}"))
        yield element(
            "rect", told, x=x.start, y=y + 19, width=x.at(value) - x.start, height=_BAR,
            class_="chart-bar",
        )  # fmt: skip


def _whole(metrics: Metrics, x: Scale, y: float) -> Iterator[Markup]:
    """The whole grade, with its interval."""
    if metrics.peak_fraction is None:
        return
    at, middle = x.at(metrics.peak_fraction), y + 24
    told = f"all shapes, geometric mean: {share(metrics.peak_fraction)}"
    yield label(told, x.start + 4, y + 14, anchor="start")
    if metrics.interval:
        low, high = map(x.at, metrics.interval)
        whisker = f"M{coordinate(low)} {coordinate(middle - 5)}v10m0 -5H{coordinate(high)}m0 -5v10"
        yield path([whisker], "chart-interval")
    yield path([f"M{coordinate(at)} {coordinate(middle - 6)}l6 6l-6 6l-6 -6z"], "chart-graded")


def _lines(
    named: Sequence[tuple[str, float]], x: Scale, y: tuple[float, float]
) -> Iterator[Markup]:
    """The ceiling and the floors, each with its name below at a height of its own."""
    for number, (name, value) in enumerate(named):
        at, below = x.at(value), y[1] + 14 + 16 * number
        yield line((at, at), (y[0], below - 10), "chart-floor" if number else "chart-ceiling")
        anchor = "start" if at < _NARROW / 2 else "end"
        yield label(f"{name} {figure(value, 3)}", at, below, anchor=anchor)


def samples_chart(spreads: Sequence[Spread]) -> Chart | None:
    """Samples as a strip a round below each shape's name; None where there are none."""
    if not spreads:
        return None
    content: list[Markup] = []
    y = 4.0
    shapes = [list(held) for _, held in groupby(spreads, key=lambda spread: spread.shape)]
    for rounds in shapes[:STRIPS]:
        content += _strips(rounds[:ROUNDS], y)
        y += 40 + _STRIP * len(rounds[:ROUNDS])
    title = "Raw samples, by shape and round"
    samples = sum(spread.count for spread in spreads)
    counts = samples, len({spread.round for spread in spreads}), len(shapes)
    held = zip(counts, ("sample", "round", "shape"), strict=True)
    told = f"{' of '.join(number_of(*each) for each in held)}, in milliseconds."
    if len(shapes) > STRIPS or any(len(rounds) > ROUNDS for rounds in shapes):
        told += f" Drawn are {STRIPS} shapes and {ROUNDS} rounds of each."
    heads = ["shape", "round", "n", "min, ms", "median", "p90", "max"]
    rows = [_cells(spread) for spread in spreads]
    behind = table(title, heads, rows, rest="the raw file has them")
    return Chart(picture(title, told, content, round(y)), behind)


def _strips(rounds: Sequence[Spread], y: float) -> Iterator[Markup]:
    low = min(spread.least for spread in rounds)
    high = max(spread.most for spread in rounds)
    name = rounds[0].shape
    yield label(name if len(name) <= _NAME else f"{name[:_NAME]}…", 4, y + 12, anchor="start")
    scale = Scale(high - low, LEFT + 16, WIDTH - RIGHT)
    bottom = y + 20 + _STRIP * len(rounds)
    yield line((scale.start, scale.end), (bottom, bottom), "chart-axis")
    yield label(f"{digits(low)} ms", scale.start, bottom + 13, anchor="start")
    yield label(f"{digits(high)} ms", scale.end, bottom + 13, anchor="end")
    for number, spread in enumerate(rounds):
        middle = y + 24 + _STRIP * number
        yield label(f"round {spread.round}", scale.start - 8, middle + 4, anchor="end")
        dots = dict.fromkeys(coordinate(scale.at(ms - low)) for ms in spread.drawn)
        yield path((f"M{dot} {coordinate(middle)}h0" for dot in dots), "chart-sample")
        at = coordinate(scale.at(spread.median - low))
        yield path([f"M{at} {coordinate(middle - 5)}v10"], "chart-median")


def _cells(spread: Spread) -> list[Markup]:
    numbers = (spread.least, spread.median, spread.p90, spread.most)
    told = [str(spread.round), str(spread.count), *map(digits, numbers)]
    return [plain(spread.shape[:200]), *map(plain, told)]
