"""A transcript at a glance: a lane for each agent, a mark for each stretch of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from kbsite.model.event import Notice, Topic
from kbsite.model.usage import Usage
from kbsite.pages.axes import Axes
from kbsite.pages.facts import elapsed
from kbsite.pages.filters import MAIN, told_apart
from kbsite.pages.parts import Part
from kbsite.pages.steps import Item

COLUMNS = 240
"""Stretches that a transcript is divided into, by number of steps."""
LANES = 8
"""Lanes that are drawn; what further sub-agents do stands in the last one."""
LEAST = 30
"""Steps from which a map is worth its place."""

_RANK = ("quoted", "error", "solution", "compaction", "edit", "write", "run", "agent", "web",
         "search", "read", "plan", "message", "thought")  # fmt: skip
"""What a mark stands for when its stretch holds several things: the first of these."""
_OTHER = len(_RANK), "other"
_RANKED = {mark: (rank, kind) for rank, kind in enumerate(_RANK) for mark in (kind, f"is-{kind}")}
"""The rank and the kind that each mark of an item stands for."""
_PAINTED = ("other", *reversed(_RANK))
"""The same from what is painted first, below all others."""

LANE, MARK, TICKS = 10, 9, 4
"""Heights of a lane, of a mark in it, and of what stands above all lanes."""


class Mark(Struct, frozen=True):
    """One stretch of one agent's steps."""

    column: int
    kind: str
    address: str
    title: str


class Lane(Struct, frozen=True):
    """The marks of one agent."""

    title: str
    top: int
    """Where it is drawn, from the top of the map."""
    marks: tuple[Mark, ...]
    links: Markup
    """A link for each mark, over the place where it is drawn."""
    drawn: tuple[tuple[str, str], ...]
    """For each kind of mark a path through all marks of it: what is painted first is first."""
    time: str
    """From where to where each mark stands on the axis of time."""
    tokens: str
    """The same on the axis of tokens."""
    pauses: str
    """From where to where the agent paused, on the axis of time."""


class Minimap(Struct, frozen=True):
    """The lanes of all agents."""

    columns: int
    height: int
    steps: int
    lanes: tuple[Lane, ...]
    axes: Axes


def minimap(parts: Sequence[Part], quoted: Mapping[str, str], usage: Usage) -> Minimap | None:
    """The map of a transcript that took so many tokens; None for a short one.

    `quoted` has the steps that an audit cites, each with the place of what it quotes first.
    """
    count = sum(len(part.items) for part in parts)
    if count < LEAST:
        return None
    columns = min(COLUMNS, count)
    named: dict[str, tuple[str, str]] = {"": (MAIN, "")}
    marks: dict[str, dict[int, tuple[int, Mark]]] = {}
    axes = Axes(whole=usage.tokens)
    placed = ((part, item) for part in parts for item in part.items)
    for index, (part, item) in enumerate(placed):
        if item.opens is not None:
            named.setdefault(item.agent, (item.opens.title or "sub-agent", item.agent))
        lane = _lane(item.agent, marks)
        column = index * columns // count
        axes.add(item, lane, column)
        rank, kind = _kind(item, quoted)
        known = marks[lane].get(column)
        if known is None or rank < known[0]:
            place = quoted.get(item.anchor, item.anchor)
            marks[lane][column] = rank, _mark(part, item, column, kind, place)
    titles = dict(told_apart(named))
    lanes: list[Lane] = []
    for agent, own in marks.items():
        held = tuple(mark for _, mark in own.values())
        top = TICKS + LANE * len(lanes)
        on_axes = axes.time(agent, own), axes.spent(agent, own), axes.pauses(agent)
        title = titles.get(agent, "sub-agent")
        lanes.append(Lane(title, top, held, _links(held, top), _drawn(held, top), *on_axes))
    return Minimap(columns, TICKS + LANE * len(lanes), count, tuple(lanes), axes)


def _links(marks: Sequence[Mark], top: int) -> Markup:
    """The links of a lane: a template takes long over hundreds of them."""
    drawn = "".join([
        f'<a href="{escape(mark.address)}" tabindex=-1 aria-label="{escape(mark.title)}">'
        f'<rect class=m-{mark.kind} x={mark.column} y={top} width=1 height={MARK} /></a>'
        for mark in marks
    ])  # fmt: skip
    return Markup(drawn)  # noqa: S704 - a mark's kind is one word of ours, all else is escaped


def _drawn(marks: Sequence[Mark], top: int) -> tuple[tuple[str, str], ...]:
    """The paths of a lane by kind: a browser takes long over an element for each mark."""
    runs: dict[str, list[list[int]]] = {}
    for mark in marks:
        held = runs.setdefault(mark.kind, [])
        if held and held[-1][1] == mark.column:
            held[-1][1] += 1
        else:
            held.append([mark.column, mark.column + 1])
    return tuple(
        (kind, "".join(f"M{x} {top}h{end - x}v{MARK}H{x}z" for x, end in runs[kind]))
        for kind in _PAINTED
        if kind in runs
    )


def _lane(agent: str, marks: dict[str, dict[int, tuple[int, Mark]]]) -> str:
    if agent not in marks and len(marks) == LANES:
        return next(reversed(marks))
    marks.setdefault(agent, {})
    return agent


def _kind(item: Item, quoted: Mapping[str, str]) -> tuple[int, str]:
    """What a mark would stand for if an item were all of its stretch, and its rank; 0 is first."""
    found = [_RANKED.get(mark, _OTHER) for mark in item.marks]
    if item.anchor in quoted:
        found.append(_RANKED["quoted"])
    event = item.step.event if item.step else None
    if isinstance(event, Notice) and event.topic is Topic.COMPACTION and not event.undone:
        found.append(_RANKED["compaction"])
    return min(found)


def _mark(part: Part, item: Item, column: int, kind: str, place: str) -> Mark:
    when = item.step.elapsed if item.step else None
    title = f"{kind}, {elapsed(when)}" if when is not None else kind
    page = "" if part.number == 1 else part.page
    return Mark(column, kind, f"{page}#{place}", title)
