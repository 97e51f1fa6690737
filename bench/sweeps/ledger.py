"""The ledger of a sweep: SQLite, one transaction a move, readable while a driver writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.sweeps.cells import Cell
from bench.sweeps.sheet import Contender
from bench.sweeps.states import MOVES, OPEN, Kind, Outcome, State, Tally
from kbsite.errors import InputError, KbsiteError, MachineError

FORM = "1"
"""Version of the tables below."""

BUSY_SECONDS = 60.0
"""How long a writer waits for another one."""

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, place INTEGER NOT NULL, wanted INTEGER NOT NULL,
    contender TEXT NOT NULL, problem TEXT NOT NULL, problem_hash TEXT NOT NULL,
    attempt INTEGER NOT NULL, state TEXT NOT NULL, run TEXT, due REAL NOT NULL DEFAULT 0,
    spoilt INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0, detail TEXT
);
CREATE TABLE IF NOT EXISTS tries (
    id TEXT PRIMARY KEY, cell TEXT NOT NULL REFERENCES cells(key), kind TEXT NOT NULL,
    begun REAL NOT NULL, ended REAL, outcome TEXT, detail TEXT, run TEXT
);
CREATE TABLE IF NOT EXISTS moves (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, cell TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, why TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS open_tries ON tries(cell) WHERE ended IS NULL;
"""


class ForbiddenMoveError(KbsiteError):
    """A cell was not where a move starts, or there is no such move: a slip of ours."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A cell as the ledger holds it."""

    cell: Cell
    state: State
    wanted: bool
    """Whether the sweep's file still asks for it."""
    run: str | None
    """Name of the folder of its run, once one counts."""
    due: float
    """When it may be tried, seconds since 1970."""
    tally: Tally
    detail: str | None
    """A sentence on how its last try ended."""


@dataclass(frozen=True, kw_only=True)
class Try:
    """One attempt of ours to get a session or a grade."""

    id: str
    """The name of its folder, too."""
    cell: str
    kind: Kind
    begun: float
    ended: float | None = None
    outcome: Outcome | None = None
    detail: str | None = None
    run: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a try ended, and what that means for its cell."""

    outcome: Outcome
    state: State
    tally: Tally
    due: float
    detail: str
    run: str | None


class Ledger:
    """What became of each cell. All writing happens here, in one transaction a move."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._base = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise _unwritten(path, error) from error
        self._base.row_factory = sqlite3.Row
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._base.close()
            raise _unwritten(path, error) from error
        except sqlite3.DatabaseError as error:
            self._base.close()
            message = f"not a ledger that can be read: {error}; move it aside: what lies on disk"
            raise InputError(f"{message} is found again", path=path) from error

    def _prepare(self) -> None:
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = FULL")
        if self.told("form") is None:
            self._base.executescript(_TABLES)
            self.tell("form", FORM)
        elif self.told("form") != FORM:
            message = f"a ledger of form {self.told('form')}; this version reads form {FORM}"
            self._base.close()
            raise InputError(f"{message}; move it aside, or use its version", path=self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._base.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """A transaction: all of what is written within it, or nothing."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            # SQLite itself rolls back what finds no room.
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            raise

    def told(self, name: str) -> str | None:
        """What was told under a name; None if nothing was."""
        there = "SELECT 1 FROM sqlite_master WHERE name = 'about'"
        if self._base.execute(there).fetchone() is None:
            return None
        row = self._base.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row["value"])

    def tell(self, name: str, value: str | None) -> None:
        """Keep a value under a name, for other processes; None forgets it."""
        if value is None:
            self._base.execute("DELETE FROM about WHERE name = ?", (name,))
        else:
            self._base.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def want(self, cells: Sequence[Cell]) -> None:
        """Make these the cells of the sweep, in this order; others stay, and are not wanted."""
        with self._whole():
            self._base.execute("UPDATE cells SET wanted = 0")
            for place, cell in enumerate(cells):
                self._base.execute(
                    "INSERT INTO cells (key, place, wanted, contender, problem, problem_hash,"
                    " attempt, state) VALUES (?, ?, 1, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (key) DO UPDATE SET place = excluded.place, wanted = 1",
                    (cell.key, place, json.dumps(asdict(cell.contender)), cell.problem,
                     cell.problem_hash, cell.attempt, State.WAITING.value),
                )  # fmt: skip

    def cells(self) -> tuple[Held, ...]:
        """All cells, in the order in which they are tried."""
        rows = self._base.execute("SELECT * FROM cells ORDER BY wanted DESC, place, key")
        return tuple(_held(row) for row in rows)

    def cell(self, key: str) -> Held:
        """One cell; KeyError if there is none of that key."""
        row = self._base.execute("SELECT * FROM cells WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return _held(row)

    def tries(self, cell: str | None = None) -> tuple[Try, ...]:
        """All tries, or those of a cell, in the order in which they began."""
        if cell is None:
            rows = self._base.execute("SELECT * FROM tries ORDER BY begun, id")
        else:
            rows = self._base.execute(
                "SELECT * FROM tries WHERE cell = ? ORDER BY begun, id", (cell,)
            )
        return tuple(_try(row) for row in rows)

    def open_tries(self) -> tuple[Try, ...]:
        """The tries of which nobody knows yet how they ended."""
        rows = self._base.execute("SELECT * FROM tries WHERE ended IS NULL ORDER BY begun, id")
        return tuple(_try(row) for row in rows)

    def begin(self, key: str, kind: Kind, try_id: str) -> None:
        """A try starts: written down before anything is started."""
        before, state = {
            Kind.AGENT: (State.WAITING, State.RUNNING),
            Kind.GRADE: (State.RAN, State.GRADING),
        }[kind]
        with self._whole():
            self._move(key, before, state, "")
            self._base.execute(
                "INSERT INTO tries (id, cell, kind, begun) VALUES (?, ?, ?, ?)",
                (try_id, key, kind.value, self._now()),
            )

    def end(self, one: Try, verdict: Verdict) -> None:
        """A try has ended."""
        before = State.RUNNING if one.kind is Kind.AGENT else State.GRADING
        with self._whole():
            done = self._base.execute(
                "UPDATE tries SET ended = ?, outcome = ?, detail = ?, run = ?"
                " WHERE id = ? AND ended IS NULL",
                (self._now(), verdict.outcome.value, verdict.detail, verdict.run, one.id),
            )
            if done.rowcount != 1:
                raise ForbiddenMoveError(f"{self._path}: the try {one.id} has ended before")
            self._move(one.cell, before, verdict.state, verdict.detail)
            self._base.execute(
                "UPDATE cells SET due = ?, spoilt = ?, lost = ?, detail = ? WHERE key = ?",
                (verdict.due, verdict.tally.spoilt, verdict.tally.lost, verdict.detail, one.cell),
            )
            if verdict.state is State.WAITING or verdict.outcome is Outcome.RAN:
                run = None if verdict.state is State.WAITING else verdict.run
                self._base.execute("UPDATE cells SET run = ? WHERE key = ?", (run, one.cell))

    def found(self, key: str, before: State, after: State, run: str | None) -> None:
        """The disk, or a person, says that a cell stands elsewhere; it may be tried at once."""
        if before in OPEN or after in OPEN:
            raise ForbiddenMoveError(f"{self._path}: {key} is under way; only its try moves it")
        with self._whole():
            why = self._move(key, before, after, "")
            self._base.execute(
                "UPDATE cells SET run = ?, due = 0, spoilt = 0, lost = 0, detail = ? WHERE key = ?",
                (run, why, key),
            )

    def renamed(self, key: str, run: str) -> None:
        """Another run than before stands for a cell, which stays where it is."""
        self._base.execute("UPDATE cells SET run = ? WHERE key = ?", (run, key))

    def _move(self, key: str, before: State, after: State, why: str) -> str:
        """Move a cell; what that means."""
        meaning = MOVES[before].get(after)
        if meaning is None:
            message = f"there is no move from {before.value} to {after.value}"
            raise ForbiddenMoveError(f"{self._path}: {key}: {message}")
        done = self._base.execute(
            "UPDATE cells SET state = ? WHERE key = ? AND state = ?",
            (after.value, key, before.value),
        )
        if done.rowcount != 1:
            raise ForbiddenMoveError(f"{self._path}: {key} is not {before.value}")
        self._base.execute(
            "INSERT INTO moves (at, cell, before, after, why) VALUES (?, ?, ?, ?, ?)",
            (self._now(), key, before.value, after.value, why or meaning),
        )
        return why or meaning

    def counts(self) -> Mapping[State, int]:
        """How many of the wanted cells stand where."""
        rows = self._base.execute(
            "SELECT state, COUNT(*) AS many FROM cells WHERE wanted GROUP BY state"
        )
        told = {row["state"]: int(row["many"]) for row in rows}
        return {state: told.get(state.value, 0) for state in State}


def _unwritten(path: Path, error: sqlite3.OperationalError) -> MachineError:
    """A ledger that may be sound, on a disk that does not let it be opened."""
    message = f"{path}: the ledger cannot be opened: {error}"
    return MachineError(f"{message}; see whether its disk is full, or read-only; nothing is lost")


@cache
def _contender(told: str) -> Contender:
    """Kept, as a driver asks for all cells twice a second, and those of a sweep have few."""
    return Contender(**json.loads(told))


def _held(row: sqlite3.Row) -> Held:
    cell = Cell(
        key=row["key"], contender=_contender(row["contender"]),
        problem=row["problem"], problem_hash=row["problem_hash"], attempt=row["attempt"],
    )  # fmt: skip
    return Held(
        cell=cell, state=State(row["state"]), wanted=bool(row["wanted"]), run=row["run"],
        due=row["due"], tally=Tally(spoilt=row["spoilt"], lost=row["lost"]), detail=row["detail"],
    )  # fmt: skip


def _try(row: sqlite3.Row) -> Try:
    outcome = row["outcome"]
    return Try(
        id=row["id"], cell=row["cell"], kind=Kind(row["kind"]), begun=row["begun"],
        ended=row["ended"], outcome=None if outcome is None else Outcome(outcome),
        detail=row["detail"], run=row["run"],
    )  # fmt: skip
