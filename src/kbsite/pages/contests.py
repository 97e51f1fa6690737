"""Which runs of a site can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kbsite.model.board import Attempt, Board


class Contest(Struct, frozen=True):
    """Runs that can be compared: those of a problem on a board."""

    board: Board
    problem: str
    attempts: Sequence[Attempt]
    """At least two, the best first, and those without a score last."""

    @property
    def pair(self) -> str:
        """What the first two of them are called."""
        return "first two" if self.attempts[1].counted_score is None else "best two"


def contests(boards: Iterable[Board]) -> Sequence[Contest]:
    """The problems with several runs on a board, in the order of boards and decks."""
    found = []
    for board in boards:
        columns: dict[str, list[Attempt]] = {column.problem: [] for column in board.columns}
        for _, column, cell in board.cells:
            columns[column.problem] += cell.attempts
        several = [(problem, held) for problem, held in columns.items() if len(held) > 1]
        found += [Contest(board, problem, sorted(held, key=_rank)) for problem, held in several]
    return found


def _rank(attempt: Attempt) -> tuple[bool, float, tuple[float, str]]:
    score = attempt.counted_score
    return (score is None, -(score or 0.0), attempt.run.order)
