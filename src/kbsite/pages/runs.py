"""The index of all runs, and of what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from kbsite.pages import listing
from kbsite.pages.page import INDEX, File, Page, Renderer, Site
from kbsite.store.runs import StoredRun

ROWS = 100
"""Runs on a page: so many open at once on any machine, and can be read without a script."""


COLUMNS = ("run", "problem", "contender", "result", "verdict", "time", "attempt")
"""What the table says of a run, and what a script can sort it by."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of a board that stand on one page."""

    board: str
    """Id of the board."""
    title: str
    shown: bool
    """Whether there is a board of this id."""
    runs: Sequence[StoredRun]


def pages(site: Site) -> Iterator[Page]:
    """The index of runs, and the pages that it goes on with."""
    yield Page(f"runs/{INDEX}", partial(_files, site))


def page_path(number: int) -> str:
    """Where a page of the index stands, from 1; none is where a run's page could be."""
    return f"runs/{INDEX}" if number == 1 else f"runs/index/{number}.html"


def _files(site: Site, renderer: Renderer) -> Iterator[File]:
    yield from listing.files(site)
    runs = listing.ordered(site)
    cut = [runs[at : at + ROWS] for at in range(0, len(runs), ROWS)] or [[]]
    for number, held in enumerate(cut, start=1):
        values = {
            "title": "runs" if number == 1 else f"runs, page {number}",
            "number": number,
            "numbers": len(cut),
            "page_path": page_path,
            "sorts": COLUMNS,
            "groups": list(_groups(site, held)),
            "choices": listing.choices(site) if number == 1 else {},
        }
        path = page_path(number)
        yield File(path, renderer.page("pages/runs.html", path, values))


def _groups(site: Site, runs: Sequence[StoredRun]) -> Iterator[Group]:
    boards = {board.config.id: board.config.title for board in site.boards}
    for board, held in groupby(runs, key=partial(listing.board_id, site)):
        yield Group(board, boards.get(board, board), board in boards, list(held))
