"""Which runs have to be read, and in which order.

The order of need: what a reader of the board relies on most and trusts least comes first.

1. the best run of its problem, if alarms flag it: all look at it, and it may be worth nothing
2. runs that an alarm flags, then those that a warning flags
3. the best run of its problem
4. the others, which the board's threshold makes due

Within each, the highest score first, then by id.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kbsite.model.board import Attempt, Board, Cell, Due
from kbsite.pages import facts
from kbsite.pages.page import Site
from kbsite.store.runs import StoredRun


class Waiting(Struct, frozen=True, kw_only=True):
    """A run that waits for its auditor."""

    board: str
    """Id of the board that shows it."""
    stored: StoredRun
    attempt: Attempt
    best: bool
    """Whether it is the best of its problem on its board."""
    reasons: tuple[str, ...]
    """Why it has to be read, in words; empty where nothing asks for it."""

    @property
    def weight(self) -> int:
        """How much its heaviest alarm weighs: 0 for none and for notes."""
        return max((alarm.level.weight for alarm in self.attempt.alarms), default=0)

    @property
    def need(self) -> tuple[bool, bool, int, bool, float, str]:
        """What runs are put in order by, the one that needs it most first."""
        return (
            not self.reasons,
            not (self.best and self.attempt.flagged),
            -self.weight,
            not self.best,
            -(self.attempt.score or 0.0),
            self.stored.run.id,
        )


def waiting(site: Site, *, everything: bool = False) -> list[Waiting]:
    """The runs that are due and not audited, in order of need.

    With `everything`, behind them all others that nobody has audited yet.
    """
    stored = {one.run.id: one for one in site.runs}
    found = [
        one
        for board in site.boards
        for one in _on(board, stored, everything=everything)
        if one.attempt.audit is None
    ]
    return sorted(found, key=lambda one: one.need)


def why_due(site: Site, run_id: str) -> tuple[str, ...]:
    """Why a run has to be read, whether or not somebody has; empty where nothing asks for it."""
    board = site.board_of.get(run_id)
    for _, _, cell in board.cells if board else ():
        if cell.shown.run.id == run_id and board:
            return _reasons(board, cell)
    return ()


def _on(board: Board, stored: dict[str, StoredRun], *, everything: bool) -> Iterator[Waiting]:
    for _, column, cell in board.cells:
        for attempt in cell.attempts:
            shown = attempt.run.id == cell.shown.run.id
            reasons = _reasons(board, cell) if shown else ()
            if reasons or everything:
                yield Waiting(
                    board=board.config.id,
                    stored=stored[attempt.run.id],
                    attempt=attempt,
                    best=column.best is attempt,
                    reasons=reasons,
                )


def _reasons(board: Board, cell: Cell) -> tuple[str, ...]:
    """Why the board's rule wants a cell audited, in words."""
    return tuple(_reason(due, board, cell.shown) for due in cell.due)


def _reason(due: Due, board: Board, attempt: Attempt) -> str:
    match due:
        case Due.HIGH:
            return f"scored {facts.threshold(board.config)} or more"
        case Due.BEST:
            return "best of its problem"
        case Due.FLAGGED:
            heaviest = max((alarm.level for alarm in attempt.alarms), key=lambda one: one.weight)
            return f"flagged ({heaviest.value})"
