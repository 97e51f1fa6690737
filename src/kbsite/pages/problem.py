"""A problem's page: statement, shapes, bounds, and who did what on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from math import inf

from markupsafe import Markup
from msgspec import Struct

from kbsite.charts.drawing import digits
from kbsite.model.accounting import ListedShape, bound_by, ceiling_of
from kbsite.model.board import Attempt, Board, Cell, Column, Row
from kbsite.model.counts import figure
from kbsite.model.floor import Floor
from kbsite.model.forbidden import FAMILIES
from kbsite.model.hardware import Hardware
from kbsite.model.problem import Bound, Problem
from kbsite.pages import listing
from kbsite.pages.page import Page, Site, problem_path, templated
from kbsite.standing import digest
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun
from kbsite.text import CodeLine, code_lines

_ADDRESS = re.compile(r"https?://[!-~]+")


class Results(Struct, frozen=True):
    """A problem's column on one board, best cell first."""

    board: Board
    column: Column
    cells: list[tuple[Row, Cell]]
    floors: list[Floor]
    """In the order of the board's floor rows."""


class Listed(Struct, frozen=True):
    """A shape that a problem is graded on, as the page lists it."""

    name: str
    sizes: list[str]
    """A size for each dimension, in their order."""
    ceilings: list[str]
    """For each hardware the time by its datasheet and what binds it; a dash where unknown."""


def pages(site: Site) -> Iterator[Page]:
    """One page for each problem that is in the repository or on a board."""
    named = {column.problem for board in site.boards for column in board.columns}
    named |= {stored.run.problem for stored in site.every_run}
    for problem in sorted(named | set(site.problems)):
        values, depends = partial(_values, site, problem), partial(_depends, site, problem)
        yield templated(problem_path(problem), "pages/problem.html", values, depends)


def _depends(site: Site, problem: str) -> object:
    """What the page shows: the problem, its runs, and where they stand on boards."""
    results = [
        (
            held.board.config.id, held.column.tally, [cell.shown.run.id for _, cell in held.cells],
            [(floor, floor.run in site.known) for floor in held.floors],
        )
        for held in _results(site, problem)
    ]  # fmt: skip
    stored = site.problems.get(problem)
    return (
        stored and (stored.id, stored.hash),
        [(name, site.hardware[name]) for name in hardware_of(site, problem)],
        results,
        [
            (held.board.config.id, [attempt.run.id for attempt in held.attempts[:2]])
            for held in site.contests
            if held.problem == problem
        ],
        [stored.run.id for stored in _elsewhere(site, problem)],
        listing.rows_depend(site, site.by_problem.get(problem, ())),
    )


SHAPES = 60
"""Shapes of a kind that are listed."""


def hardware_of(site: Site, problem: str) -> list[str]:
    """Ids of the hardware that boards with this problem were made on, and that is known."""
    named = [
        board.hardware
        for board in site.boards
        if board.hardware in site.hardware
        and any(column.problem == problem for column in board.columns)
    ]
    return list(dict.fromkeys(name for name in named if name is not None))


def listed(problem: Problem, shapes: Sequence[ListedShape], on: Sequence[Hardware]) -> list[Listed]:
    """The shapes of a problem with their ceilings on some hardware."""
    return [
        Listed(
            str(shape.get("id", number)),
            [str(shape.get(name, "–")) for name in dimensions(problem)],
            [ceiling_text(problem, shape, one) for one in on],
        )
        for number, shape in enumerate(shapes[:SHAPES], start=1)
    ]


def ceiling_text(problem: Problem, shape: ListedShape, hardware: Hardware) -> str:
    """Such as "0.183 ms, fp8"; a dash where the work or a figure is not known."""
    try:
        found = ceiling_of(problem, shape, hardware)
    except ValueError:
        return "–"
    return f"{digits(found.ms)} ms, {bound_by(found)}" if found.ms else "–"


def calibration(bound: Bound) -> str:
    """What the bound lets through and what it keeps out, as it was measured; "" if it was not."""
    told = []
    if bound.honest is not None:
        told.append(f"honest kernels use up to {figure(bound.honest, 2)} of it")
    if bound.cheapest is not None:
        cheat = bound.cheat or "the cheapest shortcut"
        told.append(f"{cheat} is {figure(bound.cheapest, 2)} times too far off")
    return "; ".join(told)


def bound_text(bound: Bound) -> str:
    """How far an output y may be off from the reference r, in one line."""
    parts = [
        f"{share:g} {unit}"
        for share, unit in ((bound.rms, "RMS(r)"), (bound.relative, "|r|"))
        if share
    ]
    said = [f"|y − r| ≤ {' + '.join(parts)}" if parts else "equal, bit by bit"]
    if bound.typical is not None:
        said.append(f"RMS(y − r) ≤ {bound.typical:g} RMS(r)")
    if bound.indices_into is not None:
        said.append(f"by what it points at in {bound.indices_into}")
    return "; ".join(said)


def _values(site: Site, problem: str) -> dict[str, object]:
    stored = site.problems.get(problem)
    held = hardware_of(site, problem)
    return {
        "title": site.problem_title(problem),
        "id": problem,
        "stored": stored,
        "bound_text": bound_text,
        "calibration": calibration,
        "families": FAMILIES,
        "dimensions": dimensions(stored.problem) if stored else [],
        "hardware": held,
        "shapes": _shapes(site, stored.problem, held) if stored else [],
        "is_address": _ADDRESS.fullmatch,
        "reference": _coloured(site, stored) if stored else [],
        "results": list(_results(site, problem)),
        "elsewhere": list(_elsewhere(site, problem)),
    }


def _coloured(site: Site, stored: StoredProblem) -> list[CodeLine]:
    """The reference, line by line; coloured anew only where it changed."""

    def made() -> str:
        return json.dumps([str(line.html) for line in code_lines(stored.reference)])

    told = site.kept.text(f"reference-{stored.id}", "all", digest(stored.reference), made)
    lines = enumerate(json.loads(told), start=1)
    return [CodeLine(number, Markup(line)) for number, line in lines]  # noqa: S704 - Pygments escapes all text


def dimensions(problem: Problem) -> list[str]:
    """Names of the columns of sizes: the dimensions, else whatever the first shape has."""
    first = problem.shapes[0] if problem.shapes else {}
    return list(problem.dimensions) or [name for name in first if name != "id"]


def _shapes(site: Site, problem: Problem, held: Sequence[str]) -> list[tuple[str, list[Listed]]]:
    """The lists of shapes that are not empty, each with what it is for."""
    on = [site.hardware[name] for name in held]
    found = [("shapes", listed(problem, problem.shapes, on))]
    found.append(("shapes on a CPU", listed(problem, problem.cpu_shapes, [])))
    return [(title, rows) for title, rows in found if rows]


def _results(site: Site, problem: str) -> Iterator[Results]:
    for board in site.boards:
        for place, column in enumerate(board.columns):
            if column.problem == problem:
                cells = [(row, cell) for row in board.rows if (cell := row.cells[place])]
                cells.sort(key=lambda pair: rank(pair[1].shown))
                rows = [row.floors for row in board.floors]
                floors = [one for row in rows for one in row if one and one.problem == problem]
                yield Results(board, column, cells, floors)


def rank(shown: Attempt) -> tuple[float, bool, float]:
    """What the cells of a problem are put in order by: score, a pass that counts, and time.

    The best is the least.
    """
    ms = shown.unscored_ms
    return -(shown.counted_score or 0), not shown.passes, inf if ms is None else ms


def _elsewhere(site: Site, problem: str) -> Iterator[StoredRun]:
    """Floor runs of a problem that no board shows: of other hardware, or before it has a board."""
    rows = (floor for board in site.boards for row in board.floors for floor in row.floors)
    shown = {floor.run for floor in rows if floor}
    for stored in site.floor_runs:
        if stored.run.problem == problem and stored.run.id not in shown:
            yield stored
