"""What a board's grid can be narrowed and sorted by, for static/board/board.js."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kbsite.model.board import Board, Cell
from kbsite.model.run import Contender
from kbsite.pages.listing import UNAUDITED, Choice, counted, words
from kbsite.pages.page import Site
from kbsite.text import visible

OWN = ("attempted", "passed", "missing", "group")
"""The columns of a grid behind those of its problems."""

_OF_CONTENDERS: Mapping[str, Callable[[Contender], str]] = {
    "harness": lambda one: one.harness,
    "model": lambda one: one.model,
    "effort": lambda one: one.effort or "",
    "variant": lambda one: one.variant or "",
}

_OF_CELLS: Mapping[str, Callable[[Cell], str]] = {
    "status": lambda cell: cell.shown.metrics.status.value,
    "verdict": lambda cell: cell.shown.audit.verdict.value if cell.shown.audit else UNAUDITED,
    "attempts": lambda cell: str(len(cell.attempts)),
}


def choices(site: Site, board: Board) -> dict[str, list[Choice]]:
    """For each filter the values that differ on the board, with their number.

    Harness, model, effort and variant are those of contenders; status, verdict and attempts those
    of the runs that cells show.
    """
    contenders = [row.contender for row in board.rows]
    cells = [cell for _, _, cell in board.cells]
    held: dict[str, Sequence[str]] = {
        **{name: [of(one) for one in contenders] for name, of in _OF_CONTENDERS.items()},
        **{name: [of(cell) for cell in cells] for name, of in _OF_CELLS.items()},
    }
    found = counted(held, {**words(site), "attempts": _attempts(cells)})
    # A contender without an effort has nothing that could be chosen.
    return {
        name: [choice for choice in values if choice.value]
        for name, values in found.items()
        if len(values) > 1
    }


def _attempts(cells: Sequence[Cell]) -> dict[str, str]:
    """What numbers of attempts are called, few first."""
    numbers = sorted({len(cell.attempts) for cell in cells})
    return {str(number): f"{number} attempt{'s' if number != 1 else ''}" for number in numbers}


def columns(board: Board) -> list[str]:
    """What the grid can be sorted by: its columns, as their headings name them."""
    problems = [visible(column.problem).replace("_", " ") for column in board.columns]
    groups = [passed_of(group.title) for group in board.groups]
    counts = [passed_of("all"), *groups] if groups else []
    return ["contender", *counts, *problems, *OWN]


def passed_of(title: str) -> str:
    """How the column is called that says how many problems of a group were passed."""
    return f"{visible(title)} passed"
