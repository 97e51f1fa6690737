"""A board as data/leaderboard.json tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from kbsite.model.board import Board, Cell, Due, Row
from kbsite.model.counts import finite
from kbsite.model.leaderboard import (
    FORMAT,
    Leaderboard,
    ListedBoard,
    ListedCell,
    ListedCoverage,
    ListedFloors,
    ListedLeak,
    ListedProblem,
    ListedRefusal,
    ListedRow,
)
from kbsite.model.standing import Standing


def latest(board: Board) -> datetime | None:
    """When the latest run of a board began; None where that of none is known."""
    times = (attempt.run.started for attempt in board.attempts)
    return max(filter(None, times), default=None)


def leaderboard(times: Iterable[datetime]) -> Leaderboard:
    """The file of some boards, given the `latest` of each, still without what is listed of them."""
    return Leaderboard(format=FORMAT, latest=max(times, default=None), boards=())


def listed_board(
    board: Board,
    leaks: tuple[ListedLeak, ...],
    title_of: Callable[[str], str],
    page_of: Callable[[str], str],
    page: str,
    standings: Sequence[Standing],
) -> ListedBoard:
    """All that a board's grid says; `title_of` a problem and `page_of` a run are the site's."""
    config = board.config
    columns = zip(board.columns, board.problem_hashes, strict=True)
    group_of = {
        column.problem: group.title
        for group in board.groups
        for column in board.columns[group.first : group.end]
    }
    rows = zip(board.rows, standings, strict=True)
    return ListedBoard(
        id=config.id,
        title=config.title,
        page=page,
        metric=config.metric,
        represents=config.represents,
        rule=config.represents.sentence,
        audit_threshold=config.audit_threshold,
        archived=config.archived,
        hardware=board.hardware,
        budget_seconds=board.budget_seconds,
        runs=board.run_count,
        problems=tuple(
            ListedProblem(
                id=column.problem, title=title_of(column.problem),
                group=group_of.get(column.problem), hash=own,
                tally=column.tally, best=column.best.run.id if column.best else None,
            )
            for column, own in columns
        ),
        rows=tuple(_row(board, row, standing, page_of) for row, standing in rows),
        floors=tuple(
            ListedFloors(kind=row.kind, floors=tuple(filter(None, row.floors)))
            for row in board.floors
        ),
        coverage=tuple(_coverage(board)),
        leaks=leaks,
        refused=tuple(ListedRefusal(run=one.run_id, reason=one.reason) for one in board.refused),
    )  # fmt: skip


def _row(board: Board, row: Row, standing: Standing, page_of: Callable[[str], str]) -> ListedRow:
    who = row.contender
    cells = zip(board.columns, row.cells, strict=True)
    return ListedRow(
        contender=who.label,
        harness=who.harness,
        model=who.model,
        effort=who.effort,
        variant=who.variant,
        tally=row.tally,
        mean=standing.mean,
        error=standing.error,
        ranks=standing.ranks,
        group=standing.letters,
        passed=standing.passed,
        cells=tuple(_cell(column.problem, cell, page_of) for column, cell in cells if cell),
    )


def _cell(problem: str, cell: Cell, page_of: Callable[[str], str]) -> ListedCell:
    shown = cell.shown
    score = finite(shown.score)
    return ListedCell(
        problem=problem,
        run=shown.run.id,
        page=page_of(shown.run.id),
        status=shown.metrics.status,
        end_reason=shown.run.end_reason,
        cut=shown.run.cut,
        peak_fraction=score,
        interval=None if score is None else shown.metrics.interval,
        ms=finite(shown.metrics.ms),
        counts=shown.counts,
        below_floor=cell.below_floor,
        verdict=shown.audit.verdict if shown.audit else None,
        audited=shown.audit.date if shown.audit else None,
        due=cell.due,
        attempts=tuple(attempt.run.id for attempt in cell.attempts),
    )


def _coverage(board: Board) -> Iterator[ListedCoverage]:
    for reason in (None, *Due):
        held = board.coverage(reason)
        yield ListedCoverage(reason=reason, done=held.done, due=held.due)
