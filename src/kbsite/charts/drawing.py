"""Pieces of charts: inline SVG without scripts, styles or ids, and tables that say the same.

Colours are classes of static/kbsite.css, so that both themes fit. Coordinates are rounded: the same
numbers make the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from markupsafe import Markup, escape
from msgspec import Struct

from kbsite.model.counts import SMALLEST, small
from kbsite.text import plain

WIDTH, HEIGHT = 760, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 28, 16, 44

ROWS = 60
"""Rows of a table from which those in the middle are left out, and counted."""

SLOT = 4
"""Width of the place in which only one mark of a kind is drawn."""

_STEPS_OF_TIME = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)


class Chart(Struct, frozen=True):
    """A picture, and a table that says the same."""

    svg: Markup
    table: Markup


class Scale(Struct, frozen=True):
    """Values along an axis, as coordinates."""

    high: float
    """The highest value; 0 stands at `start`."""
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands; one beyond an end of the axis stands at that end."""
        share = min(1.0, max(0.0, value / self.high)) if self.high > 0 else 0.0
        return round(self.start + share * (self.end - self.start), 1)


def element(name: str, *content: Markup, **attributes: str | float) -> Markup:
    """An element; `_` in the name of an attribute stands for `-`, and `class_` for `class`."""
    told = "".join(
        [
            f' {_called(key)}="{_word(value) if isinstance(value, str) else coordinate(value)}"'
            for key, value in attributes.items()
        ]
    )
    # The names are those of the charts themselves, never a run's; a site has a million elements.
    return Markup(f"<{name}{told}>{_together(content)}</{name}>")  # noqa: S704


@cache
def _called(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _word(text: str) -> Markup:
    """`plain`, for what is mostly a class or a word that stands in every chart."""
    return _short(text) if len(text) <= _SHORT else plain(text)


_SHORT = 40
"""Letters of the longest word that is remembered."""

_short = lru_cache(maxsize=1000)(plain)


def _together(content: Iterable[str], between: str = "") -> str:
    """Content as it stands in an element: markup as it is, all else escaped.

    To ask is cheaper than to escape markup, which changes nothing of it.
    """
    return between.join([held if isinstance(held, Markup) else escape(held) for held in content])


def coordinate(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def picture(
    title: str, description: str, content: Iterable[Markup], height: int, width: int = WIDTH
) -> Markup:
    """A chart's picture; its name and what it shows are read out by a screen reader.

    One that is drawn narrower than the others can be read on a phone without being scrolled.
    """
    style = "chart" if width == WIDTH else "chart chart-narrow"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return Markup(  # noqa: S704 - the words are escaped, all else is ours
        f'<svg class="{style}" role="img" {size}><title>{plain(title)}</title>'
        f"<desc>{plain(description)}</desc>{_together(content)}</svg>"
    )


def label(text: str, x: float, y: float, *, anchor: str = "middle") -> Markup:
    """Words in a picture; `anchor` is start, middle or end."""
    at = f'x="{coordinate(x)}" y="{coordinate(y)}" text-anchor="{anchor}"'
    return Markup(f'<text {at} class="chart-label">{_word(text)}</text>')  # noqa: S704 - escaped


def line(x: tuple[float, float], y: tuple[float, float], style: str) -> Markup:
    """A straight line."""
    start = f'x1="{coordinate(x[0])}" y1="{coordinate(y[0])}"'
    end = f'x2="{coordinate(x[1])}" y2="{coordinate(y[1])}"'
    return Markup(f'<line {start} {end} class="{style}"></line>')  # noqa: S704 - all of it is ours


def link(words: str, address: str) -> Markup:
    """A link."""
    return Markup(f'<a href="{plain(address)}">{plain(words)}</a>')  # noqa: S704 - escaped


def path(parts: Iterable[str], style: str) -> Markup:
    """A path; none at all where it has no parts."""
    drawn = " ".join(parts)
    return element("path", d=drawn, class_=style) if drawn else Markup("")


def axes(x: Scale, y: Scale, names: tuple[Sequence[str], Sequence[str]]) -> list[Markup]:
    """Lines of a grid with words at their ends; the words are evenly spread from 0 to the end."""
    across, upwards = map(tuple, names)
    return [
        _across(x.start, x.end, y.start, across),
        _upwards(y.start, y.end, (x.start, x.end), upwards),
    ]


# The words are round numbers: the charts of many runs have the same few axes.
@lru_cache(maxsize=1000)
def _across(start: float, end: float, y: float, names: Sequence[str]) -> Markup:
    found = []
    for number, name in enumerate(names):
        at = round(start + (end - start) * number / (len(names) - 1), 1)
        found.append(line((at, at), (y, y + 4), "chart-axis"))
        found.append(label(name, at, y + 18))
    return Markup("").join(found)


@lru_cache(maxsize=1000)
def _upwards(start: float, end: float, x: tuple[float, float], names: Sequence[str]) -> Markup:
    found = []
    for number, name in enumerate(names):
        at = round(start + (end - start) * number / (len(names) - 1), 1)
        found.append(line(x, (at, at), "chart-grid" if number else "chart-axis"))
        found.append(label(name, x[0] - 6, at + 4, anchor="end"))
    return Markup("").join(found)


def steps(high: float) -> tuple[float, int]:
    """The width and number of the steps, 1, 2 or 5 times a power of ten, that reach `high`."""
    if not high > 0:
        return 1.0, 1
    power = 10.0 ** math.floor(math.log10(high / 4)) if high >= 1e-300 else high
    width = next((power * n for n in (1, 2, 5) if power * n * 5 >= high), power * 10)
    return width, max(1, math.ceil(high / width - 1e-9))


def steps_of_time(high: float) -> tuple[float, int]:
    """The width and number of the steps, round numbers of seconds to hours, that reach `high`."""
    width = next((float(n) for n in _STEPS_OF_TIME if n * 6 >= high), 0.0)
    if not width:
        width = 86400.0 * max(1.0, steps(high / 86400)[0])
    return width, max(1, math.ceil(high / width - 1e-9))


def clock(seconds: float) -> str:
    """A time since the start: 0:07, 12:30, 1:05:00; tenths below ten seconds."""
    # What is rounded to a tenth, or to ten seconds, is told as that is.
    if 0 < seconds < 0.095:
        return brief(seconds)
    if 0 < seconds < 9.95 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def brief(seconds: float) -> str:
    """A time of less than a tenth of a second, by its first digit: "0.02 s", "3 ms", "5 µs"."""
    if seconds > 0.0095:
        return f"{seconds:.1g} s"
    for size, unit in ((1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.95 * size:
            return f"{float(f'{seconds / size:.1g}'):.0f} {unit}"
    return "< 1 µs"


def amount(count: float) -> str:
    """A large number in few letters: 950, 12k, 1.5M."""
    # 999,600 is no thousand thousands, but a million.
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= 0.9995 * size:
            most = count / size
            return f"{most:.3g}{letter}" if most < 999.5 else f"{most:.0f}{letter}"
    return f"{count:.3g}"


def whole_percent(value: float) -> str:
    """A share in whole percent, "57 %", but that neither 0 nor 100 % is said of what is not that.

    "< 1 %" and "> 99 %" are said of it.
    """
    text = f"{value * 100:.0f} %"
    if text == "0 %" and value > 0:
        return "< 1 %"
    return "> 99 %" if text == "100 %" and value < 1 else text


def digits(value: float, count: int = 4) -> str:
    """A figure in so many digits, zeros at its end too: 0.2000 beside 0.1972; 0 as it is.

    Of what is larger no digit before the point is lost: 123456.
    """
    if abs(value) >= 10**count - 0.5:
        return f"{value:.0f}"
    return f"{value:#.{count}g}".removesuffix(".") if value else "0"


def share(value: float) -> str:
    """A share in three digits, with more where they would call whole what is not: 0.9996."""
    text = small(value, 3) if SMALLEST <= value < 0.001 else digits(value, 3)
    return text if value == 1 or float(text) != 1 else _beside_one(value)


def percentage(value: float) -> str:
    """A share as a percentage in two digits, from 99.5 % on in four or more: 99.996 %, 100.0 %."""
    text = digits(value * 100, 2 if value < 0.995 else 4)
    if value != 1 and float(text) == 100:
        beside = _beside_one(value)
        text = f"{float(beside) * 100:.{len(beside) - 4}f}"
    return f"{text} %"


def _beside_one(value: float) -> str:
    """What is nearly one, with as many digits as show that it is not; at most six."""
    told = (f"{value:.{count}f}" for count in range(4, 7))
    return next((one for one in told if float(one) != 1), "0.999999" if value < 1 else "1.000001")


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Markup]],
    rest: str = "the transcript has them",
) -> Markup:
    """A table; where it is long, the rows in the middle are left out and counted.

    `rest` says where those are.
    """
    body = [_row(row) for row in rows]
    if len(body) > ROWS:
        told = plain(f"… {len(body) - ROWS} more; {rest} …")
        gap = element("tr", element("td", told, colspan=str(len(heads))))
        body = [*body[: ROWS // 2], gap, *body[len(body) - ROWS // 2 :]]
    return Markup(  # noqa: S704 - the rows are markup, the words are escaped
        f'<table class="chart-table"><caption>{plain(caption)}</caption>{_head(tuple(heads))}'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


@lru_cache(maxsize=100)
def _head(names: Sequence[str]) -> Markup:
    cells = (element("th", plain(name), scope="col") for name in names)
    return element("thead", element("tr", *cells))


def _row(cells: Sequence[Markup]) -> Markup:
    told = _together(cells, "</td><td>")
    return Markup(f"<tr><td>{told}</td></tr>")  # noqa: S704 - the cells are markup
