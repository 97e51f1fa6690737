"""The rows of a board's grid, rendered anew only where something in them changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup
from msgspec import Struct

from kbsite.model.board import Board, Row
from kbsite.model.standing import Standing
from kbsite.pages.leaks import Card
from kbsite.pages.page import Site
from kbsite.standing import digest

Draw = Callable[[Row, Standing], str]
"""Turns a row into HTML."""


class GridRows(Struct, frozen=True):
    """What the rows of a board's grid show beside code, titles and settings."""

    site: Site
    board: Board
    latency: Mapping[str, float | None]
    leak_of: Mapping[str, Card]

    def __call__(self, row: Row, standing: Standing, draw: Draw) -> Markup:
        """A row as HTML."""

        def made() -> str:
            return str(draw(row, standing))

        kind, known = f"grid-{self.board.config.id}", self._made_of(row, standing)
        html = self.site.kept.html(kind, row.contender.label, known, made)
        return Markup(html)  # noqa: S704 - a template made it

    def _made_of(self, row: Row, standing: Standing) -> str:
        """A digest of all that a row shows; empty where that is not known."""
        cells = []
        for cell in filter(None, row.cells):
            run_id = cell.shown.run.id
            known, card = self.site.untold.get(run_id), self.leak_of.get(run_id)
            if not known:
                return ""
            leak = card and (card.anchor, card.title)
            cells.append((run_id, known, cell.below_floor, cell.due, len(cell.attempts), leak))
        held = [bool(cell) for cell in row.cells]
        problems = [column.problem for column in self.board.columns]
        columns = (problems, self.board.groups, self.board.scored)
        return digest(row.contender, row.tally, held, cells, standing, columns, self.latency)
