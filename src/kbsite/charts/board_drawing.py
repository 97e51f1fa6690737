"""Pieces of which a board's drawings are made: SVG of classes and rounded numbers.

No piece has a style or a script of its own, and all text in it is escaped and visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, floor, log

from markupsafe import Markup

from kbsite.charts.drawing import coordinate
from kbsite.model.board import Attempt
from kbsite.model.counts import figure
from kbsite.text import plain

WIDTH = 420
"""Of every drawing, in its own units: narrow enough for letters of a telephone's size."""

EDGE, RIGHT = 12, 408
LETTER = 7.25
"""Width of a letter, at most."""

LINE = 18
"""Height of a line of letters."""

Written = Callable[[float], str]
"""Writes a number as the site does."""


Keep = Callable[[str, object, Sequence[Attempt], Callable[[Attempt], str]], str]
"""Joins what a chart says of runs, a piece each.

Given what the pieces are called, all that they hang on beside their run, the runs in order, and
what makes a piece: who knows a piece need not make it anew.
"""


def made_anew(
    name: str,  # noqa: ARG001
    scale: object,  # noqa: ARG001
    runs: Sequence[Attempt],
    make: Callable[[Attempt], str],
) -> str:
    """The pieces, each of them made."""
    return "".join(map(make, runs))


def along(value: float, top: float) -> float:
    """Where a value stands on an axis from edge to edge."""
    return EDGE + (RIGHT - EDGE) * value / top


def ticks(largest: float, steps: Sequence[int], base: int) -> list[float]:
    """Round numbers from 0 to `largest` or somewhat more, at most seven of them."""
    largest = max(largest, 1e-6) if largest else 1.0
    wanted = largest / 5
    if wanted < 1:
        # Parts of a second are no sixtieths.
        steps, base = (1, 2, 5), 10
    power = floor(log(wanted) / log(base))
    sizes = [step * float(base) ** at for at in (power, power + 1) for step in steps]
    size = min(held for held in sizes if held >= wanted * (1 - 1e-9))
    return [size * number for number in range(ceil(largest / size - 1e-9) + 1)]


def telling(marked: Sequence[float], *ways: Written) -> Written:
    """The first of some ways to write numbers that writes each of these otherwise; else the last.

    ".001" beside ".001" is no axis: one of them is 0.0005.
    """
    return next((way for way in ways if len(set(map(way, marked))) == len(marked)), ways[-1])


def exact(value: float) -> str:
    """A round number as short as it can be: "0", ".0005", "2.5"."""
    text = figure(value)
    return text.removeprefix("0") if text.startswith("0.") else text


def x_axis(
    y: float, top: float, marked: Sequence[float], written: Written, left: float
) -> Iterator[Markup]:
    """A line from 0 at `left` to `top`, with numbers below it: as many as have room."""
    yield box(left, y - 0.5, RIGHT - left, 1, "bc-axis")
    shares = [share for tick in marked if (share := tick / top) <= 1 + 1e-9]
    texts = [written(tick) for tick in marked]
    every = next((n for n in range(1, len(shares)) if _have_room(shares[::n], texts[::n], left)), 1)
    for number, share in enumerate(shares):
        x = left + (RIGHT - left) * share
        yield box(x - 0.5, y, 1, 4, "bc-axis")
        if number % every == 0:
            side = ("", "bc-middle ", "bc-end ")[_side(share)]
            yield words(x, y + 18, texts[number], f"{side}bc-dim")


def _side(share: float) -> int:
    """Halves of a number below an axis that stand left of its place."""
    return 2 if share > 0.9 else 1 if share > 0.04 else 0


def _have_room(shares: Sequence[float], texts: Sequence[str], left: float) -> bool:
    """Whether numbers at these places of an axis leave a letter free between them."""
    ends = -LETTER
    for share, text in zip(shares, texts, strict=False):
        width = len(text) * LETTER
        starts = (RIGHT - left) * share - width * _side(share) / 2
        if starts < ends + LETTER:
            return False
        ends = starts + width
    return True


def legend(line: int, signs: Iterable[tuple[str, str]]) -> Markup:
    """One line of it: shapes or colours, each with its name."""
    pieces, x = [], float(EDGE)
    for shape, name in signs:
        pieces += [
            _key(shape, x, LINE * line),
            words(x + 20, LINE * line + 13, clipped(name, RIGHT - x - 20)),
        ]
        x += 20 + LETTER * (len(name) + 2)
    return Markup("").join(pieces)


def _key(name: str, x: float, y: float) -> Markup:
    if name in _SHAPES:
        return sign(name, x + 6, y + 9)
    if name in ("bc-compiled", "bc-library"):
        return box(x + 5, y + 2, 2.5, 13, name)
    return box(x, y + 4, 12, 10, name)


_SHAPES = {
    "bc-run": "M0-3.5a3.5 3.5 0 1 0 .01 0z",
    "bc-best": "M0-6 6 0 0 6-6 0z",
    "bc-s0": "M0-4a4 4 0 1 0 .01 0z",
    "bc-s1": "M-4-4H4V4H-4z",
    "bc-s2": "M0-5.5 5.5 0 0 5.5-5.5 0z",
    "bc-s3": "M0-5 5 4H-5z",
    "bc-s4": "M0 5 5-4H-5z",
    "bc-s5": "M-1.5-5h3v3.5H5v3H1.5V5h-3V1.5H-5v-3h3.5z",
    "bc-s6": "M-5-5-2.5-5 0-2 2.5-5H5L1.5 0 5 5H2.5L0 2-2.5 5H-5L-1.5 0z",
    "bc-s7": "M-5-1.5H5v3H-5z",
}


def sign(name: str, x: float, y: float, told: str = "") -> Markup:
    """A point, with what a pointer on it is told."""
    title = f"<title>{plain(told)}</title>" if told else ""
    place = f"translate({coordinate(x)} {coordinate(y)})"
    return safe(f'<path class="{name}" transform="{place}" d="{_SHAPES[name]}">{title}</path>')


def box(x: float, y: float, width: float, height: float, name: str) -> Markup:
    """A rectangle: a bar or a line."""
    size = f'width="{coordinate(max(width, 0))}" height="{coordinate(height)}"'
    return safe(f'<rect class="{name}" x="{coordinate(x)}" y="{coordinate(y)}" {size}/>')


def words(x: float, y: float, text: str, name: str = "") -> Markup:
    """A line of letters on the base line `y`."""
    classes = f' class="{name}"' if name else ""
    return safe(f'<text{classes} x="{coordinate(x)}" y="{coordinate(y)}">{plain(text)}</text>')


def safe(piece: str) -> Markup:
    """A piece of which all that comes from outside is escaped already; a board has thousands."""
    return Markup(piece)  # noqa: S704 - names of classes are ours, texts are escaped


def clipped(text: str, width: float) -> str:
    """As much of a text as fits, with a sign that there is more."""
    most = max(1, int(width / LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def drawing(title: str, height: float, pieces: Iterable[Markup]) -> Markup:
    """The whole: one picture with a name."""
    return Markup(
        '<svg class="bc" role="img" viewBox="0 0 {} {}"><title>{}</title>{}</svg>'
    ).format(WIDTH, coordinate(height), plain(title), Markup("").join(pieces))
