"""What stands beside a run on its board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbsite.model.board import Board


class Neighbours(Struct, frozen=True):
    """The runs beside a cell on its board, by id; None at an edge."""

    left: str | None = None
    right: str | None = None
    up: str | None = None
    down: str | None = None


def neighbours(board: Board) -> Iterator[tuple[str, Neighbours]]:
    """What stands beside each run of a board, by the run's id."""
    grid = [[cell.shown.run.id if cell else None for cell in row.cells] for row in board.rows]
    across = [_beside(line) for line in grid]
    down = [_beside(line) for line in zip(*grid, strict=True)]
    for y, row in enumerate(board.rows):
        for x, cell in enumerate(row.cells):
            for attempt in cell.attempts if cell else ():
                yield attempt.run.id, Neighbours(*across[y][x], *down[x][y])


def _beside(ids: Sequence[str | None]) -> list[tuple[str | None, str | None]]:
    """For each place of a line the nearest id before it, and the nearest after it."""
    return list(zip(_passed(ids), [*_passed(ids[::-1])][::-1], strict=True))


def _passed(ids: Sequence[str | None]) -> Iterator[str | None]:
    """For each place of a line the last id before it."""
    last = None
    for one in ids:
        yield last
        last = one or last
