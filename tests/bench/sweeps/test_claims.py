"""Sweeps of one board that ask for the same cells: each cell is worked on once, for all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.sealed import json_bytes, seal, write_whole
from bench.sweeps.cells import cells
from bench.sweeps.claims import claim, claim_file, claimed, unclaimed, wanted_still
from bench.sweeps.conduct import opened
from bench.sweeps.executors.local import popen
from bench.sweeps.hold import GIVEN_UP
from bench.sweeps.shown import lines
from bench.sweeps.states import Kind, Outcome, State
from bench.sweeps.tries import ELSEWHERE, ERR, Task, at_work, write_task
from bench.sweeps.works import Work
from kbsite.model.status import EndReason
from tests.bench.sweeps.drive import work as work_of
from tests.bench.sweeps.engines import scene
from tests.bench.sweeps.stand_in import JOURNAL
from tests.bench.sweeps.sweeps import contender, put_run, works, write_sheet

DRIVE = Path(__file__).with_name("drive.py")


def first(work: Work) -> str:
    return cells(work.sweep, work.hashes())[0].key


def read(journal: Path) -> list[str]:
    return journal.read_text().splitlines()


@contextmanager
def another_at(work: Work, key: str) -> Iterator[None]:
    """Somebody else works on a cell."""
    descriptor = claim(work.board, key)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def test_two_drivers_at_once_do_each_cell_once_and_both_end_complete(tmp_path: Path) -> None:
    models = [contender(model=f"works:0.{n}") for n in (1, 2, 3)]
    night = works(tmp_path, contenders=models, attempts=2, seed=1)
    day_file = write_sheet(tmp_path / "day.yaml", contenders=models[1:], attempts=3, seed=2)
    day = work_of(day_file, night.places.runs, night.places.problems)
    places = [str(night.places.runs), str(night.places.problems)]
    drivers = [
        subprocess.Popen([sys.executable, str(DRIVE), str(tmp_path / name), *places])
        for name in ("night.yaml", "day.yaml")
    ]
    assert [process.wait(240) for process in drivers] == [0, 0]

    wanted = {cell.key for one in (night, day) for cell in cells(one.sweep, one.hashes())}
    starts = Counter(line.split()[0] for line in read(tmp_path / JOURNAL))
    grades = Counter(line.split()[1] for line in read(night.places.runs / JOURNAL))
    assert len(wanted) == 8
    assert starts == dict.fromkeys(wanted, 1)
    assert sorted(grades.values()) == [1] * 8
    for one in (night, day):
        with opened(one) as ledger:
            counts = ledger.counts()
            outcomes = {each.outcome for each in ledger.tries()}
        assert counts[State.DONE] == sum(counts.values()) == 6
        assert outcomes <= {Outcome.RAN, Outcome.GRADED, Outcome.ELSEWHERE}
    assert not list(night.board.glob(".sweeps/*/aside/*"))


def test_what_another_sweep_works_on_is_waited_for_and_taken_over(tmp_path: Path) -> None:
    work = works(tmp_path, attempts=2, grade=False)
    with scene(work) as made:
        with another_at(work, first(work)):
            assert made.step()
            assert len(made.sessions()) == 1
            assert made.sessions()[0].cell != first(work)
            told = lines(made.ledger, made.now(), work.board)
            assert "1 waiting for another sweep, which works on them" in told
            put_run(work, made.held(first(work)).cell)
            made.leaves(made.sessions()[0])
            assert made.step(), "somebody may be about to make its record"
        assert not made.step()
        assert made.ledger.counts()[State.DONE] == 2
        assert len(made.engine.started) == 1


def test_what_another_sweep_gave_up_is_done_here(tmp_path: Path) -> None:
    work = works(tmp_path, grade=False)
    with scene(work) as made:
        with another_at(work, first(work)):
            made.step()
        put_run(work, made.held(first(work)).cell, told={"end_reason": EndReason.PROVIDER})
        made.step()
        assert len(made.sessions()) == 1


def test_a_run_that_another_sweep_grades_is_not_graded_beside_it(tmp_path: Path) -> None:
    work = works(tmp_path)
    run = put_run(work, cells(work.sweep, work.hashes())[0])
    with scene(work) as made:
        with another_at(work, first(work)):
            made.step()
            assert made.grades() == []
            write_whole(run / "metrics.json", json_bytes({"format": 1, "status": "wrong"}))
            seal(run)
        assert not made.step()
        assert made.engine.started == []
        assert made.held(first(work)).state is State.DONE


def test_what_another_sweep_is_writing_is_not_moved_aside(tmp_path: Path) -> None:
    work = works(tmp_path)
    partial = work.board / "x.partial"
    with scene(work) as made:
        made.step()
        (session,) = made.sessions()
        write_whole(partial / "order.json", json_bytes({"cell": session.cell}))
        with another_at(work, session.cell):
            made.engine.ends(session, -9)
            made.step()
            assert partial.is_dir()
        assert made.held(session.cell).tally.lost == 1
        made.step(1000)
        made.engine.ends(made.sessions()[0], -9)
        made.step()
        assert not partial.exists()


def test_what_starts_at_the_same_moment_starts_nothing_and_is_no_failure(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        (session,) = made.sessions()
        with another_at(work, session.cell):
            assert popen(session, None).wait(60) == GIVEN_UP
        assert (session.folder / ELSEWHERE).exists()
        assert "another sweep works on its cell" in (session.folder / ERR).read_text()
        made.engine.ends(session, GIVEN_UP)
        made.step()
        assert Outcome.ELSEWHERE in {one.outcome for one in made.ledger.tries()}
        assert made.held(session.cell).tally.lost == 0
        assert len(made.sessions()) == 1, "nobody works on it any more"


def test_a_claim_lasts_as_long_as_the_program_that_does_the_work(tmp_path: Path) -> None:
    work = works(tmp_path)
    program = (sys.executable, "-c", "import time; time.sleep(600)")
    task = replace(work.session(cells(work.sweep, work.hashes())[0]), command=program)
    write_task(task)
    process = popen(task, None)
    try:
        while not claimed(work.board, task.cell):
            assert process.poll() is None
        assert at_work(task.folder)
        assert claim(work.board, task.cell) is None
    finally:
        process.kill()
        process.wait()
    assert not claimed(work.board, task.cell)


def test_who_looks_is_in_nobodys_way(tmp_path: Path) -> None:
    work = works(tmp_path)
    assert not claimed(work.board, "k")
    assert not claim_file(work.board, "k").exists(), "a look leaves nothing"
    with unclaimed(work.board, "k") as free:
        assert free
        assert claimed(work.board, "k")
    with another_at(work, "k"), unclaimed(work.board, "k") as free:
        assert not free
    assert not claimed(work.board, "k")


def test_what_was_made_meanwhile_is_not_wanted_any_more(tmp_path: Path) -> None:
    work = works(tmp_path)
    cell = cells(work.sweep, work.hashes())[0]
    session = work.session(cell)
    put_run(work, cell, told={"end_reason": EndReason.PROVIDER})
    assert wanted_still(session, work.board), "what the provider spoilt counts for nobody"
    run = put_run(work, cell)
    assert not wanted_still(session, work.board)
    grade = work.grade(cell, run.name)
    assert wanted_still(grade, work.board)
    write_whole(run / "metrics.json", json_bytes({"format": 1, "status": "wrong"}))
    seal(run)
    assert not wanted_still(grade, work.board)
    assert wanted_still(Task(**{**vars(grade), "run": None}), work.board)
    assert grade.kind is Kind.GRADE
