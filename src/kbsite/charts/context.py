"""How large the main agent's context was at each of its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from kbsite.charts.drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    ROWS,
    SLOT,
    TOP,
    WIDTH,
    Chart,
    Scale,
    amount,
    axes,
    coordinate,
    element,
    link,
    path,
    picture,
    steps,
    table,
)
from kbsite.charts.score import Href
from kbsite.model.trajectory import Compaction, ContextSize, VitalSigns
from kbsite.text import plain


def context_chart(signs: VitalSigns, href: Href) -> Chart | None:
    """Tokens sent with each message, and compactions; None where no message was counted."""
    sizes = signs.context
    if not sizes:
        return None
    width, count = steps(max(size.sent for size in sizes))
    x = Scale(float(max(1, len(sizes) - 1)), LEFT, WIDTH - RIGHT)
    y = Scale(width * count, HEIGHT - BOTTOM, TOP)
    names = (["first", "last"], [amount(width * n) for n in range(count + 1)])
    content = [
        *axes(x, y, names),
        *_compactions(signs.compactions, x, y),
        path(_line(sizes, x, y), "chart-line"),
    ]
    title = "Context size by message"
    largest = max(size.sent for size in sizes)
    told = (
        f"Tokens sent with each message of the main agent that tells of them, {len(sizes)} in all: "
        f"{amount(sizes[0].sent)} with the first, {amount(sizes[-1].sent)} with the last, at most "
        f"{amount(largest)}. Compactions: {len(signs.compactions)}."
    )
    return Chart(picture(title, told, content, HEIGHT), _table(title, signs, href))


def _line(sizes: Sequence[ContextSize], x: Scale, y: Scale) -> Iterator[str]:
    """A path through the sizes; of many in one place, through the largest and the smallest."""
    crowded = len(sizes) >= (x.end - x.start) / SLOT
    places: dict[float, list[int]] = {}
    for number, size in enumerate(sizes):
        at = x.at(number)
        place = float(int(at)) if crowded else at
        held = places.setdefault(place, [])
        if len(held) == 2:
            held[:] = [min(*held, size.sent), max(*held, size.sent)]
        else:
            held.append(size.sent)
    points = [(place, y.at(sent)) for place, held in places.items() for sent in held]
    if crowded:
        yield from _in_whole_steps(points)
        return
    command = "M"
    for place, height in points:
        yield f"{command}{coordinate(place)} {coordinate(height)}"
        command = "L"


def _in_whole_steps(points: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A path of whole steps from point to point, which weighs a third of one with its places."""
    whole = [(int(place), round(height)) for place, height in points]
    (left, top), *others = whole
    yield f"M{left} {top}l"
    for (before, above), (place, height) in zip(whole, others, strict=False):
        yield f"{place - before} {height - above}"


def _compactions(compactions: Sequence[Compaction], x: Scale, y: Scale) -> Iterator[Markup]:
    places: dict[float, Compaction] = {}
    for compaction in compactions:
        # It stands between the last message before it and the first one after it.
        places.setdefault(float(int(x.at(compaction.messages - 0.5))), compaction)
    for place, compaction in places.items():
        told = element("title", plain(f"compaction at {compaction.anchor}"))
        drawn = f"M{coordinate(place)} {coordinate(y.start)} V{coordinate(y.end)}"
        yield element(
            "path", told, d=drawn, class_="chart-compaction", data_anchor=compaction.anchor
        )


def _compacted(before: int, behind: int) -> str:
    told = [str(before)] if before else []
    return ", ".join([*told, *([f"{behind} after it"] if behind else [])])


def _table(title: str, signs: VitalSigns, href: Href) -> Markup:
    """A row a message; where there are many, a row for messages that follow each other."""
    sizes = signs.context
    each = -(-len(sizes) // ROWS)
    rows = []
    # What was compacted behind the last message is told in the last row.
    behind = sum(compaction.messages >= len(sizes) for compaction in signs.compactions)
    for first in range(0, len(sizes), each):
        held = sizes[first : first + each]
        last = first + len(held)
        name = str(last) if len(held) == 1 else f"{first + 1} to {last}"
        largest = max(held, key=lambda size: size.sent)
        compacted = sum(first <= c.messages < last for c in signs.compactions)
        rows.append(
            [
                plain(name),
                plain(f"{largest.sent:,}"),
                plain(f"{held[-1].sent:,}"),
                plain(_compacted(compacted, behind if last == len(sizes) else 0)),
                link(largest.anchor, href(largest.anchor)),
            ]
        )
    heads = ["message", "tokens sent, at most", "at the end", "compactions before", "step"]
    return table(title, heads, rows)
