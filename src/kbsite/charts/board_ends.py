"""How the sessions of a board's contenders ended: a bar a contender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

from kbsite.charts.board import BoardChart, Entry
from kbsite.charts.board_drawing import (
    EDGE,
    LETTER,
    LINE,
    RIGHT,
    along,
    box,
    clipped,
    drawing,
    legend,
    words,
)
from kbsite.model.board import Board, Row
from kbsite.model.status import EndReason


def ends(board: Board) -> BoardChart:
    """How the sessions of each contender ended, as one bar a contender."""
    counts = [_ends_of(row) for row in board.rows]
    found = [reason for reason in EndReason if any(count[reason] for count in counts)]
    labels = [row.contender.label for row in board.rows]
    shares = [[count[reason] for reason in found] for count in counts]
    title = "How the sessions ended"
    return BoardChart(
        title=title,
        note="Each bar is a contender, as long as it has runs; the numbers are runs."
        if labels
        else "No session is on this board.",
        drawing=_ends_drawn(title, labels, found, shares) if labels else None,
        heads=("contender", *(reason.value for reason in found), "runs"),
        rows=tuple(map(_end_row, labels, shares)),
    )


def _ends_drawn(
    title: str, labels: Sequence[str], found: Sequence[EndReason], shares: Sequence[Sequence[int]]
) -> Markup:
    names = [legend(n, [(_end(reason), _ENDS[reason])]) for n, reason in enumerate(found)]
    head = LINE * len(found)
    most = max(map(sum, shares))
    lines = [
        _end_line(head + n * _END_LINE, label, list(zip(found, own, strict=True)), most)
        for n, (label, own) in enumerate(zip(labels, shares, strict=True))
    ]
    return drawing(title, head + len(lines) * _END_LINE + 8, [*names, *lines])


def _end_row(label: str, shares: Sequence[int]) -> tuple[Entry, ...]:
    return tuple(map(Entry, [label, *map(str, shares), str(sum(shares))]))


def _ends_of(row: Row) -> Counter[EndReason]:
    attempts = [attempt for cell in row.cells if cell for attempt in cell.attempts]
    return Counter(attempt.run.end_reason for attempt in attempts)


_END_LINE = 44
_ENDS = {
    EndReason.FINISHED: "finished: the CLI ended by itself",
    EndReason.BUDGET: "budget: the wall clock stopped the agent",
    EndReason.PROVIDER: "provider error: the model's provider failed",
    EndReason.HARNESS: "harness error: the CLI itself failed",
    EndReason.TRUNCATED: "truncated: the last answer was cut",
    EndReason.STALLED: "stalled: nothing happened any more",
    EndReason.SIGNAL: "signal: somebody, or a signal, stopped the CLI",
    EndReason.ERROR: "error: the CLI gave up",
    EndReason.UNKNOWN: "unknown: nothing tells why",
}


def _end(reason: EndReason) -> str:
    return f"bc-end-{reason.value}"


def _end_line(y: float, label: str, parts: Sequence[tuple[EndReason, int]], most: int) -> Markup:
    pieces = [words(EDGE, y + 16, clipped(label, RIGHT - EDGE))]
    starts = accumulate((count for _, count in parts), initial=0)
    for (reason, count), start in zip(parts, starts, strict=False):
        left, right = along(start, most), along(start + count, most)
        if count:
            pieces.append(box(left, y + 22, max(right - left - 1.5, 0.5), 16, _end(reason)))
        if count and right - left >= LETTER * len(str(count)) + 2:
            middle = (left + right - 1.5) / 2
            pieces.append(words(middle, y + 34.5, str(count), "bc-middle bc-on"))
    return Markup("").join(pieces)
