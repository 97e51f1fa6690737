"""A problem's page: statement, shapes, bounds, and who did what on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from kbsite.model.board import Board, Cell, Column, Row
from kbsite.model.problem import Bound
from kbsite.pages.page import Page, Site, problem_path, templated
from kbsite.text import code_lines

_ADDRESS = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True, slots=True)
class Results:
    """A problem's column on one board, best cell first."""

    board: Board
    column: Column
    cells: list[tuple[Row, Cell]]


def pages(site: Site) -> Iterator[Page]:
    """One page for each problem that is in the repository or on a board."""
    named = {column.problem for board in site.boards for column in board.columns}
    named |= {stored.run.problem for stored in site.every_run}
    for problem in sorted(named | set(site.problems)):
        yield templated(
            problem_path(problem), "pages/problem.html", partial(_values, site, problem)
        )


def bound_text(bound: Bound) -> str:
    """How far an output y may be off from the reference r, in one line."""
    parts = [
        f"{figure:g} {unit}"
        for figure, unit in ((bound.rms, "RMS(r)"), (bound.relative, "|r|"))
        if figure
    ]
    said = [f"|y − r| ≤ {' + '.join(parts)}" if parts else "equal, bit by bit"]
    if bound.typical is not None:
        said.append(f"RMS(y − r) ≤ {bound.typical:g} RMS(r)")
    if bound.indices_into is not None:
        said.append(f"by what it points at in {bound.indices_into}")
    return "; ".join(said)


def _values(site: Site, problem: str) -> dict[str, object]:
    stored = site.problems.get(problem)
    return {
        "title": site.problem_title(problem),
        "id": problem,
        "stored": stored,
        "bound_text": bound_text,
        "is_address": _ADDRESS.fullmatch,
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
