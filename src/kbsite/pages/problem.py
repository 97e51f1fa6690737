"""A problem's page: statement, shapes, bounds, and who did what on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from kbsite.model.board import Board, Cell, Column, Row
from kbsite.pages.page import Page, Site, problem_path, templated
from kbsite.text import code_lines


@dataclass(frozen=True, slots=True)
class Results:
    """A problem's column on one board, best cell first."""

    board: Board
    column: Column
    cells: list[tuple[Row, Cell]]


def pages(site: Site) -> Iterator[Page]:
    """One page for each problem that is in the repository or on a board."""
    named = {column.problem for board in site.boards for column in board.columns}
    named |= {stored.run.problem for stored in site.runs}
    for problem in sorted(named | set(site.problems)):
        yield templated(
            problem_path(problem), "pages/problem.html", partial(_values, site, problem)
        )


def _values(site: Site, problem: str) -> dict[str, object]:
    stored = site.problems.get(problem)
    return {
        "title": site.problem_title(problem),
        "id": problem,
        "stored": stored,
        "reference": code_lines(stored.reference) if stored else [],
        "results": list(_results(site, problem)),
    }


def _results(site: Site, problem: str) -> Iterator[Results]:
    for board in site.boards:
        for column in board.columns:
            if column.problem == problem:
                cells = [(row, cell) for row, at, cell in board.cells if at is column]
                cells.sort(key=lambda pair: -(pair[1].shown.counted_score or 0))
                yield Results(board, column, cells)
