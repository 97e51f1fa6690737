"""The ledger: whole transactions, no move but those that there are, readable at any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.sweeps.cells import Cell, cells
from bench.sweeps.ledger import ForbiddenMoveError, Ledger, Verdict
from bench.sweeps.states import Kind, Outcome, State, Tally
from kbsite.errors import InputError
from tests.bench.sweeps.sweeps import Ticks, contender, sheet

HASHES = {"toy": "1" * 64}


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / ".sweeps" / "night.sqlite"


@pytest.fixture(name="wanted")
def _wanted(tmp_path: Path) -> tuple[Cell, ...]:
    models = [contender(model=name) for name in ("a", "b")]
    return cells(sheet(tmp_path, contenders=models, attempts=2), HASHES)


@pytest.fixture(name="ledger")
def _ledger(path: Path, wanted: tuple[Cell, ...]) -> Iterator[Ledger]:
    with Ledger(path, Ticks()) as made:
        made.want(wanted)
        yield made


def verdict(state: State = State.RAN, outcome: Outcome = Outcome.RAN, run: str = "r") -> Verdict:
    return Verdict(
        outcome=outcome, state=state, tally=Tally(spoilt=1), due=7.0, detail="so it was", run=run
    )


def test_cells_come_back_as_they_were_wanted_and_in_order(
    ledger: Ledger, wanted: tuple[Cell, ...]
) -> None:
    held = ledger.cells()

    assert tuple(one.cell for one in held) == wanted
    assert {one.state for one in held} == {State.WAITING}
    assert ledger.counts()[State.WAITING] == 4
    assert ledger.cell(wanted[2].key).cell == wanted[2]
    with pytest.raises(KeyError):
        ledger.cell("nobody")


def test_what_became_of_a_cell_is_kept_when_it_is_wanted_again(
    ledger: Ledger, wanted: tuple[Cell, ...]
) -> None:
    ledger.begin(wanted[0].key, Kind.AGENT, "t1")
    ledger.want(tuple(reversed(wanted[:3])))

    assert [one.cell for one in ledger.cells()] == [*reversed(wanted[:3]), wanted[3]]
    assert [one.wanted for one in ledger.cells()] == [True, True, True, False]
    assert ledger.cell(wanted[0].key).state is State.RUNNING
    assert sum(ledger.counts().values()) == 3


def test_a_try_and_its_end_are_written_down_with_the_move(
    ledger: Ledger, wanted: tuple[Cell, ...]
) -> None:
    key = wanted[0].key
    ledger.begin(key, Kind.AGENT, "t1")
    (one,) = ledger.open_tries()
    assert (one.id, one.cell, one.kind, one.begun) == ("t1", key, Kind.AGENT, 1000.0)

    ledger.end(one, verdict())
    held = ledger.cell(key)
    assert (held.state, held.run, held.due, held.tally.spoilt) == (State.RAN, "r", 7.0, 1)
    assert held.detail == "so it was"
    assert ledger.open_tries() == ()
    (ended,) = ledger.tries(key)
    assert (ended.outcome, ended.run, ended.ended) == (Outcome.RAN, "r", 1000.0)


def test_a_run_that_does_not_count_is_not_the_cells_run(
    ledger: Ledger, wanted: tuple[Cell, ...]
) -> None:
    key = wanted[0].key
    ledger.begin(key, Kind.AGENT, "t1")
    ledger.end(ledger.open_tries()[0], verdict(State.WAITING, Outcome.SPOILT, "bad"))

    assert ledger.cell(key).run is None
    assert ledger.tries(key)[0].run == "bad"


def test_a_grade_keeps_the_run(ledger: Ledger, wanted: tuple[Cell, ...]) -> None:
    key = wanted[0].key
    ledger.begin(key, Kind.AGENT, "t1")
    ledger.end(ledger.open_tries()[0], verdict())
    ledger.begin(key, Kind.GRADE, "t2")
    ledger.end(ledger.open_tries()[0], verdict(State.DONE, Outcome.GRADED, "r"))

    assert (ledger.cell(key).state, ledger.cell(key).run) == (State.DONE, "r")


def test_no_cell_is_started_twice(ledger: Ledger, wanted: tuple[Cell, ...]) -> None:
    ledger.begin(wanted[0].key, Kind.AGENT, "t1")
    with pytest.raises(ForbiddenMoveError, match="is not waiting"):
        ledger.begin(wanted[0].key, Kind.AGENT, "t2")

    assert [one.id for one in ledger.tries()] == ["t1"]


def test_no_try_ends_twice(ledger: Ledger, wanted: tuple[Cell, ...]) -> None:
    ledger.begin(wanted[0].key, Kind.AGENT, "t1")
    (one,) = ledger.open_tries()
    ledger.end(one, verdict(State.WAITING, Outcome.LOST))
    with pytest.raises(ForbiddenMoveError, match="has ended before"):
        ledger.end(one, verdict())

    assert ledger.cell(one.cell).state is State.WAITING


def test_a_move_that_there_is_not_changes_nothing(ledger: Ledger, wanted: tuple[Cell, ...]) -> None:
    ledger.begin(wanted[0].key, Kind.AGENT, "t1")
    (one,) = ledger.open_tries()
    with pytest.raises(ForbiddenMoveError, match="no move from running to grading"):
        ledger.end(one, verdict(State.GRADING))

    assert ledger.open_tries() == (one,)
    assert ledger.cell(one.cell).state is State.RUNNING


def test_only_its_try_moves_a_cell_that_is_under_way(
    ledger: Ledger, wanted: tuple[Cell, ...]
) -> None:
    key = wanted[0].key
    with pytest.raises(ForbiddenMoveError, match="only its try"):
        ledger.found(key, State.WAITING, State.RUNNING, None)
    ledger.begin(key, Kind.AGENT, "t1")
    with pytest.raises(ForbiddenMoveError, match="only its try"):
        ledger.found(key, State.RUNNING, State.DONE, "r")


def test_what_the_disk_says_is_taken_and_told(ledger: Ledger, wanted: tuple[Cell, ...]) -> None:
    key = wanted[0].key
    ledger.found(key, State.WAITING, State.DONE, "r")
    assert (ledger.cell(key).state, ledger.cell(key).run) == (State.DONE, "r")
    assert "found on disk" in (ledger.cell(key).detail or "")
    ledger.renamed(key, "r2")
    assert ledger.cell(key).run == "r2"
    ledger.found(key, State.DONE, State.WAITING, None)
    assert ledger.cell(key).run is None


def test_another_reads_while_one_writes(
    ledger: Ledger, path: Path, wanted: tuple[Cell, ...]
) -> None:
    with Ledger(path, Ticks()) as other:
        ledger.begin(wanted[0].key, Kind.AGENT, "t1")
        assert other.counts()[State.RUNNING] == 1
        other.tell("wish", "drain")
        assert ledger.told("wish") == "drain"
        other.tell("wish", None)
    assert ledger.told("wish") is None


def test_what_was_not_committed_was_never_there(path: Path, wanted: tuple[Cell, ...]) -> None:
    """A driver that dies within a move leaves what was before it."""
    with Ledger(path, Ticks()) as made:
        made.want(wanted)
    dying = sqlite3.connect(path, isolation_level=None)
    dying.execute("BEGIN IMMEDIATE")
    dying.execute("UPDATE cells SET state = 'running'")
    dying.close()

    with Ledger(path, Ticks()) as again:
        assert again.counts()[State.WAITING] == 4
        again.begin(wanted[0].key, Kind.AGENT, "t1")


def test_each_move_is_kept_with_its_reason(
    ledger: Ledger, path: Path, wanted: tuple[Cell, ...]
) -> None:
    ledger.begin(wanted[0].key, Kind.AGENT, "t1")
    ledger.end(ledger.open_tries()[0], verdict(State.WAITING, Outcome.SPOILT))
    told = sqlite3.connect(path)
    moves = told.execute("SELECT before, after, why FROM moves ORDER BY number").fetchall()
    told.close()

    assert moves == [
        ("waiting", "running", "a try starts"), ("running", "waiting", "so it was"),
    ]  # fmt: skip


def test_a_file_that_is_no_ledger_is_named_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else, and long enough to be looked at" * 100)
    with pytest.raises(InputError, match="move it aside"):
        Ledger(path, Ticks())
    assert path.read_bytes().startswith(b"something else")


def test_a_ledger_of_another_form_is_named(path: Path) -> None:
    with Ledger(path, Ticks()) as made:
        made.tell("form", "9")
    with pytest.raises(InputError, match="form 9"):
        Ledger(path, Ticks())
