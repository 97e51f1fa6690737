"""A board: the table of contenders and problems, with everything that a cell says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct, field

from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Audit
from kbsite.model.config import BoardConfig
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.grade import Metrics
from kbsite.model.run import Contender, Run
from kbsite.model.status import Status


class Attempt(Struct, frozen=True):
    """One run, as a board sees it."""

    run: Run
    metrics: Metrics
    audit: Audit | None
    alarms: tuple[Alarm, ...] = ()

    @property
    def score(self) -> float | None:
        """Its peak_fraction; None unless it passed with one."""
        return self.metrics.peak_fraction if self.metrics.status is Status.PASSED else None

    @property
    def counts(self) -> bool:
        """Whether no verdict takes it out of the ranking."""
        return self.audit is None or self.audit.counts

    @property
    def counted_score(self) -> float | None:
        """Its score in the ranking; None where it has none, or a verdict takes it out."""
        return self.score if self.counts else None

    @property
    def passes(self) -> bool:
        """Whether it passed, and no verdict takes it out of the ranking."""
        return self.counts and self.metrics.status is Status.PASSED

    @property
    def unscored_ms(self) -> float | None:
        """The time of one that passed without a score, milliseconds; None for all others."""
        passed = self.metrics.status is Status.PASSED and self.score is None
        return self.metrics.ms if passed else None

    @property
    def flagged(self) -> bool:
        """Whether an alarm says that somebody has to look."""
        return any(alarm.level is not Level.NOTE for alarm in self.alarms)


class Due(Enum):
    """Why a cell has to be audited; in the order in which a board names them."""

    HIGH = "high"
    BEST = "best"
    FLAGGED = "flagged"

    @property
    def sentence(self) -> str:
        """The reason, as a cell states it."""
        return _DUE[self]


_DUE = {
    Due.HIGH: "its score is high",
    Due.BEST: "it is the best of its problem",
    Due.FLAGGED: "an alarm flags it",
}


class Cell(Struct, frozen=True, kw_only=True):
    """What one contender did on one problem."""

    attempts: tuple[Attempt, ...]
    """All of them, in order of time."""
    shown: Attempt
    """The one that stands for the cell, by the board's rule."""
    below_floor: bool
    """Whether it is slower than the eager reference: by scores, or by times where none are."""
    due: tuple[Due, ...]
    """Why the board's rule wants it audited; empty if it does not."""

    @property
    def audit_due(self) -> bool:
        """Whether the board's rule wants it audited."""
        return bool(self.due)

    @property
    def unaudited(self) -> bool:
        """Whether it has to be audited and is not."""
        return self.audit_due and self.shown.audit is None


class Tally(Struct, frozen=True, kw_only=True):
    """Three numbers that must not be mixed up, of a row or a column."""

    attempted: int
    """Cells with a graded attempt."""
    passed: int
    """Cells whose attempt passed, and counts."""
    missing: int
    """Cells with no attempt, or with none that was graded."""
    taken_out: int = 0
    """Cells whose verdict takes them out of the ranking; they are not among the passed ones."""


class Group(Struct, frozen=True):
    """Columns of a board that belong together, as kbsite.yaml says."""

    title: str
    first: int
    """The place of its first column."""
    end: int
    """The place behind its last column."""


class Row(Struct, frozen=True, kw_only=True):
    """A contender's cells, in the order of the deck; None where it has no run."""

    contender: Contender
    cells: tuple[Cell | None, ...]
    tally: Tally

    def passed_of(self, group: Group) -> int:
        """How many problems of a group it passed, with runs that count."""
        own = self.cells[group.first : group.end]
        return sum(cell is not None and cell.shown.passes for cell in own)


class FloorRow(Struct, frozen=True, kw_only=True):
    """The floors of one kind, in the order of the deck."""

    kind: FloorKind
    floors: tuple[Floor | None, ...]


class Column(Struct, frozen=True, kw_only=True):
    """A problem on the board."""

    problem: str
    tally: Tally
    best: Attempt | None


class Scores(Struct, frozen=True):
    """What comparing the scores that count says."""

    best: Mapping[str, int] = field(default_factory=dict)
    """The number of the best cell of each problem; of equals the first."""
    sums: Mapping[int, int] = field(default_factory=dict)
    """The sum of the scores of each contender in billionths, by its number."""


class Coverage(Struct, frozen=True):
    """How many of the cells that have to be audited are, for one reason or for all."""

    done: int
    due: int

    @property
    def missing(self) -> int:
        """How many are not."""
        return self.due - self.done


class Refusal(Struct, frozen=True):
    """A run that the board does not mix with the others, and why."""

    run_id: str
    reason: str


class Board(Struct, frozen=True, kw_only=True):
    """A published table."""

    config: BoardConfig
    hardware: str | None
    """What all of its runs were made on; None where that was not recorded."""
    budget_seconds: float | None
    """What all of its runs had; None where that was not recorded."""
    problem_hashes: tuple[str | None, ...]
    """The content hash of each problem of the deck, as its runs had it."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    """Best first."""
    floors: tuple[FloorRow, ...]
    refused: tuple[Refusal, ...]

    @property
    def refused_for(self) -> Mapping[str, Sequence[str]]:
        """The ids of the runs that are refused, by the reason."""
        found: dict[str, list[str]] = {}
        for refusal in self.refused:
            found.setdefault(refusal.reason, []).append(refusal.run_id)
        return found

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of its columns, in order; none where kbsite.yaml names none."""
        found: list[Group] = []
        seen: set[str] = set()
        for group in self.config.groups:
            own = set(group.problems) - seen
            if own:
                found.append(Group(group.title, len(seen), len(seen) + len(own)))
            seen |= own
        return tuple(found)

    @property
    def timed(self) -> bool:
        """Whether cells show the times of runs that passed without a score."""
        return any(cell.shown.unscored_ms is not None for *_, cell in self.cells)

    @property
    def imported(self) -> bool:
        """Whether all of its grades come from elsewhere."""
        graded = [attempt.metrics for attempt in self.attempts]
        return bool(graded) and all(metrics.origin is not None for metrics in graded)

    @property
    def scored(self) -> bool:
        """Whether anything on it has a score that counts; else problems passed are what ranks."""
        return self.best is not None

    @property
    def cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        """Every cell that has a run, row by row."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                if cell is not None:
                    yield row, column, cell

    @property
    def attempts(self) -> Iterator[Attempt]:
        """Every run on the board, cell by cell."""
        for _, _, cell in self.cells:
            yield from cell.attempts

    @property
    def run_count(self) -> int:
        """Number of runs on the board."""
        return sum(len(cell.attempts) for _, _, cell in self.cells)

    @property
    def best(self) -> Attempt | None:
        """The highest score of all."""
        scored = [column.best for column in self.columns if column.best is not None]
        return max(scored, key=lambda attempt: attempt.score or 0, default=None)

    @property
    def most_passed(self) -> int:
        """The most problems that one contender passed."""
        return max((row.tally.passed for row in self.rows), default=0)

    @property
    def leaders(self) -> Sequence[Contender]:
        """Who is first: more than one where they are equal.

        Cells of theirs show the highest score of all; where nothing has one, they passed the most.
        """
        best = self.best
        if best is None:
            passed = self.most_passed
            return [row.contender for row in self.rows if row.tally.passed == passed > 0]
        return [
            row.contender
            for row in self.rows
            if any(cell and cell.shown.counted_score == best.score for cell in row.cells)
        ]

    @property
    def audits_due(self) -> int:
        """Number of cells that the board's rule wants audited."""
        return self.coverage().due

    @property
    def audits_done(self) -> int:
        """Number of cells that the board's rule wants audited, and that are."""
        return self.coverage().done

    def coverage(self, reason: Due | None = None) -> Coverage:
        """The cells that have to be audited, for one reason or for any; a cell can have several."""
        due = [cell for _, _, cell in self.cells if (reason in cell.due if reason else cell.due)]
        return Coverage(sum(not cell.unaudited for cell in due), len(due))

    @property
    def taken_out(self) -> int:
        """Number of cells whose verdict takes them out of the ranking."""
        return sum(row.tally.taken_out for row in self.rows)
