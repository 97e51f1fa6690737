"""The main agent's time by kind of work."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from kbsite.charts.drawing import (
    LEFT,
    RIGHT,
    WIDTH,
    Chart,
    clock,
    element,
    label,
    picture,
    table,
    whole_percent,
)
from kbsite.model.trajectory import VitalSigns
from kbsite.text import plain

_BAR = 28
_LEGEND = 4
"""Names in one line below the bar."""


def work_chart(signs: VitalSigns) -> Chart | None:
    """One bar: the model, each kind of tool, idle time; None where the transcript tells no time.

    What a CLI tells of some of its calls, where rows have no times, is no share of anything.
    """
    parts = list(_parts(signs)) if signs.span is not None else []
    whole = sum(seconds for _, _, seconds in parts)
    if whole <= 0:
        return None
    lines = -(-len(parts) // _LEGEND)
    title = "Time by kind of work"
    told = ", ".join(f"{name} {clock(seconds)}" for name, _, seconds in parts)
    content = [*_bar(parts, whole), *_legend(parts, whole)]
    svg = picture(title, f"{told}.", content, 8 + _BAR + 12 + 22 * lines)
    rows = [
        [
            plain(name),
            plain(clock(seconds)),
            plain(whole_percent(seconds / whole)),
            plain(_calls(signs, style)),
        ]
        for name, style, seconds in parts
    ]
    timed = {style for _, style, _ in parts}
    # Such as those that only sub-agents made: somebody who adds up the calls has to get all.
    rows += [
        [plain(kind.value), plain(""), plain(""), plain(str(calls))]
        for kind, calls in signs.calls.items()
        if kind.value not in timed
    ]
    heads = ["work", "time of the main agent", "share", "calls of all agents"]
    return Chart(svg, table(title, heads, rows))


def _parts(signs: VitalSigns) -> Iterator[tuple[str, str, float]]:
    """Each kind of work with its class and its seconds."""
    if signs.model is not None:
        yield "model", "model", signs.model
    for kind, seconds in signs.tools.items():
        yield kind.value, kind.value, seconds
    if signs.idle:
        yield "idle", "idle", signs.idle


def _calls(signs: VitalSigns, style: str) -> str:
    """Number of calls of a kind, of all agents; empty for what is no tool."""
    return next((str(n) for kind, n in signs.calls.items() if kind.value == style), "")


def _bar(parts: list[tuple[str, str, float]], whole: float) -> Iterator[Markup]:
    start = float(LEFT)
    for name, style, seconds in parts:
        width = seconds / whole * (WIDTH - LEFT - RIGHT)
        title = element("title", plain(f"{name}: {clock(seconds)}"))
        yield element(
            "rect", title, x=start, y=8, width=width, height=_BAR, class_=f"work work-{style}"
        )
        start += width


def _legend(parts: list[tuple[str, str, float]], whole: float) -> Iterator[Markup]:
    for number, (name, style, seconds) in enumerate(parts):
        x = LEFT + (WIDTH - LEFT - RIGHT) / _LEGEND * (number % _LEGEND)
        y = 8 + _BAR + 26 + 22 * (number // _LEGEND)
        yield element("rect", x=x, y=y - 10, width=12, height=12, class_=f"work work-{style}")
        yield label(f"{name} {whole_percent(seconds / whole)}", x + 18, y, anchor="start")
