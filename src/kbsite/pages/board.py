"""A board's page: the grid with floors, verdicts and everything that was refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kbsite.model.audit import Verdict
from kbsite.model.board import Board
from kbsite.model.price import PriceTable
from kbsite.model.status import Status
from kbsite.pages.board_figures import figures
from kbsite.pages.page import Page, Site, board_path, templated
from kbsite.text import banner


def pages(site: Site) -> Iterator[Page]:
    """One page a board."""
    for board in site.boards:
        values = partial(_values, board, site.prices)
        yield templated(board_path(board.config.id), "pages/board.html", values)


def _values(board: Board, prices: PriceTable) -> dict[str, object]:
    shown = [cell.shown for _, _, cell in board.cells]
    statuses = {attempt.metrics.status for attempt in shown}
    verdicts = {attempt.audit.verdict for attempt in shown if attempt.audit}
    return {
        "title": board.config.title,
        "banner": banner(board.config.title),
        "board": board,
        "statuses": [status for status in Status if status in statuses],
        "verdicts": [verdict for verdict in Verdict if verdict in verdicts],
        **figures(board, prices),
    }
