"""data/leaderboard.json: every board as its page shows it, for other programs."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final, Literal

from msgspec import Struct

from kbsite.model.audit import Verdict
from kbsite.model.board import Due, Tally
from kbsite.model.config import Represents
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.standing import Proportion
from kbsite.model.status import EndReason, Status

FORMAT: Final = 1
"""Version of the format of data/leaderboard.json."""


class ListedCell(Struct, frozen=True, kw_only=True):
    """What one contender did on one problem, by the attempt that stands for the cell."""

    problem: str
    run: str
    """Id of the attempt that is shown."""
    page: str
    """Address of that run's page, from the folder of the site on."""
    status: Status
    end_reason: EndReason
    cut: bool
    """Whether the wall-clock budget stopped the agent."""
    peak_fraction: float | None
    """Its score, in the board's `metric`; null unless it passed with one."""
    interval: tuple[float, float] | None
    """Confidence interval of the score, low and high."""
    ms: float | None
    """Geometric mean of the times over the shapes, milliseconds."""
    counts: bool
    """Whether no verdict takes it out of the ranking."""
    below_floor: bool
    """Whether it is slower than the eager reference: by scores, or by times where none are."""
    verdict: Verdict | None
    audited: date | None
    """When it was judged; null where nobody did, or the audit does not say."""
    due: tuple[Due, ...]
    """Why the board's rule wants it audited; empty if it does not."""
    attempts: tuple[str, ...]
    """Ids of all attempts, in order of time."""


class ListedRow(Struct, frozen=True, kw_only=True):
    """A contender's row, with where it stands."""

    contender: str
    """As the board writes it."""
    harness: str
    model: str
    effort: str | None
    variant: str | None
    tally: Tally
    mean: float | None
    """Of the scores over the whole deck; a cell without one counts 0.

    On a board without any score it is the share of problems passed."""
    error: float | None
    """Standard error of the mean; null of fewer than two problems."""
    ranks: tuple[int, int]
    """The best and the worst rank that the runs leave open."""
    group: str
    """Two contenders share a letter just where their means cannot be told apart."""
    passed: Proportion
    """Of the problems attempted."""
    cells: tuple[ListedCell, ...]
    """In the order of the deck, without problems that it has no run of."""


class ListedProblem(Struct, frozen=True, kw_only=True):
    """A problem of a board's deck."""

    id: str
    title: str
    group: str | None
    """Title of the group of the deck that it belongs to."""
    hash: str | None
    """Content hash of the problem, as the board's runs had it."""
    tally: Tally
    best: str | None
    """Id of the run with the highest score that counts."""


class ListedFloors(Struct, frozen=True, kw_only=True):
    """The floors of one kind; those that are null on the board are left out."""

    kind: FloorKind
    floors: tuple[Floor, ...]


class ListedCoverage(Struct, frozen=True, kw_only=True):
    """How many of the cells that have to be audited for a reason are."""

    reason: Due | None
    """Null: for any reason; a cell can have several."""
    done: int
    due: int


class ListedLeak(Struct, frozen=True, kw_only=True):
    """A shortcut that a rubric failed to forbid, and the runs of the board that went through it."""

    title: str
    problem: str
    """The problem whose rubric leaks; empty where it is not one problem's."""
    runs: tuple[str, ...]
    """The best first."""


class ListedRefusal(Struct, frozen=True, kw_only=True):
    """A run that the board does not mix with the others."""

    run: str
    reason: str


class ListedBoard(Struct, frozen=True, kw_only=True):
    """A board, with everything that its grid says."""

    id: str
    title: str
    page: str
    """Address of the board's page, from the folder of the site on."""
    metric: str
    represents: Represents
    rule: str
    """Which attempt stands for a cell, in a sentence."""
    audit_threshold: float
    archived: bool
    hardware: str | None
    budget_seconds: float | None
    runs: int
    """Runs on the board, attempts included."""
    problems: tuple[ListedProblem, ...]
    rows: tuple[ListedRow, ...]
    """Best first."""
    floors: tuple[ListedFloors, ...]
    coverage: tuple[ListedCoverage, ...]
    leaks: tuple[ListedLeak, ...]
    refused: tuple[ListedRefusal, ...]


class Leaderboard(Struct, frozen=True, kw_only=True):
    """data/leaderboard.json; data/boards/<id>/leaderboard.json holds one board alone."""

    format: Literal[1]
    """Version of the format."""
    latest: datetime | None
    """When the latest run of the boards began; null where none says."""
    boards: tuple[ListedBoard, ...]
