"""The index of all runs, and of what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from msgspec import Struct

from kbsite.pages import listing
from kbsite.pages.left_out import left_out
from kbsite.pages.page import INDEX, File, Page, Renderer, Site
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun

ROWS = 100
"""Runs on a page: so many open at once on any machine, and can be read without a script."""


COLUMNS = ("run", "problem", "contender", "result", "verdict", "time", "attempt")
"""What the table says of a run, and what a script can sort it by."""


class Group(Struct, frozen=True):
    """Runs of a board that stand on one page."""

    board: str
    """Id of the board."""
    title: str
    shown: bool
    """Whether there is a board of this id."""
    runs: Sequence[StoredRun]


def pages(site: Site) -> Iterator[Page]:
    """The index of runs, and the pages that it goes on with."""
    runs = site.ordered
    cut = [runs[at : at + ROWS] for at in range(0, len(runs), ROWS)] or [[]]
    for number, held in enumerate(cut, start=1):
        path, files = page_path(number), partial(_files, site, held, number, len(cut))
        if number == 1:
            yield Page(path, files)
        else:
            yield Page(path, files, partial(_depends, site, held, number, len(cut)))


def page_path(number: int) -> str:
    """Where a page of the index stands, from 1; none is where a run's page could be."""
    return f"runs/{INDEX}" if number == 1 else f"runs/index/{number}.html"


def _depends(
    site: Site,
    held: Sequence[StoredRun],
    number: int,
    numbers: int,
    inputs: Mapping[str, Input],  # noqa: ARG001
) -> object:
    rows, problems = listing.rows_depend(site, held), sorted({one.run.problem for one in held})
    return number, numbers, len(site.runs), rows, [site.problem_title(one) for one in problems]


def _files(
    site: Site, held: Sequence[StoredRun], number: int, numbers: int, renderer: Renderer
) -> Iterator[File]:
    if number == 1:
        yield from listing.files(site)
    values = {
        "title": "runs" if number == 1 else f"runs, page {number}",
        "number": number,
        "numbers": numbers,
        "page_path": page_path,
        "sorts": COLUMNS,
        "groups": list(_groups(site, held)),
        "choices": listing.choices(site) if number == 1 else {},
        "left_out": _left_out(site) if number == 1 else {},
    }
    path = page_path(number)
    yield File(path, renderer.page("pages/runs.html", path, values))


def _left_out(site: Site) -> Mapping[str, str]:
    """The runs that have a page for what is wrong with them, by the path of that."""
    return {one.path: name for name, told in left_out(site).items() for one in told}


def _groups(site: Site, runs: Sequence[StoredRun]) -> Iterator[Group]:
    boards = {board.config.id: board.config.title for board in site.boards}
    for board, held in groupby(runs, key=partial(listing.board_id, site)):
        yield Group(board, boards.get(board, board), board in boards, list(held))
