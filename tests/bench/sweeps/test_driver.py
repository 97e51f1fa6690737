"""The driver: what it starts and when, and what it makes of how things ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.grading.setting import Patience
from bench.sealed import json_bytes, write_whole
from bench.sweeps.cells import cells
from bench.sweeps.driver import Wish, words
from bench.sweeps.ending import PATIENCE_SECONDS, SILENT_SECONDS
from bench.sweeps.executors.local import popen
from bench.sweeps.refusals import LOG
from bench.sweeps.shelf import Shelf
from bench.sweeps.shown import HEADINGS, as_data, lines, note_driver, rows
from bench.sweeps.slots import CALM_SECONDS
from bench.sweeps.states import Kind, Outcome, State
from bench.sweeps.tries import ERR, STOP, Task, asked_to_end, at_work, this_process, write_task
from bench.sweeps.works import Work
from kbsite.model.status import EndReason, Status
from kbsite.store.folders import BEGUN
from tests.bench.sweeps.engines import Engine, Scene, scene
from tests.bench.sweeps.sweeps import contender, exchange, put_run, works


@pytest.fixture(name="one")
def _one(tmp_path: Path) -> Iterator[Scene]:
    with scene(works(tmp_path)) as made:
        yield made


def only(made: Scene) -> str:
    (held,) = made.ledger.cells()
    return held.cell.key


def test_a_cell_runs_is_graded_and_is_done(one: Scene) -> None:
    assert one.step()
    (session,) = one.sessions()
    assert one.held(only(one)).state is State.RUNNING
    run = one.leaves(session)
    assert one.step()
    (grade,) = one.grades()
    assert str(run) in grade.command
    assert one.held(only(one)).run == run.name
    one.grade(grade)

    assert not one.step()
    assert one.held(only(one)).state is State.DONE
    assert words(one.ledger.counts()) == "1 of 1 done"


def test_what_a_supervisor_is_told_is_all_that_decides_the_run(one: Scene) -> None:
    one.step()
    order = one.sessions()[0].order
    assert order is not None
    told = order["order"]

    assert (told["cell"], told["board"], told["problem"]) == (only(one), "night", "toy")
    assert (told["model"], told["provider"], told["budget_seconds"]) == ("works", "here", 60.0)
    assert order["limits"]["stall_seconds"] == one.work.sweep.limits.stall_seconds
    assert order["problem_hash"] == one.held(only(one)).cell.problem_hash
    assert Path(order["runs"]).is_absolute()


def test_agents_that_share_a_gpu_are_told_so(tmp_path: Path) -> None:
    for shared in (1, 2):
        gpus = {"kind": "local", "gpus": ["GPU-a"], "agents_per_gpu": shared}
        work = works(tmp_path, hardware="h100-sxm", executor=gpus)
        task = work.session(cells(work.sweep, work.hashes())[0])
        assert task.gpu
        assert task.order is not None
        assert task.order["limits"]["share_gpu"] is (shared == 2)


def test_a_grade_is_asked_for_on_the_sweeps_hardware(tmp_path: Path) -> None:
    for hardware, words_of in (("cpu", "--device cpu"), ("b", "--device cuda --hardware b")):
        work = works(tmp_path, hardware=hardware)
        task = work.grade(cells(work.sweep, work.hashes())[0], "r")
        assert words_of in " ".join(task.command)
        assert task.gpu is (hardware != "cpu")


def test_without_grades_a_complete_run_is_all(tmp_path: Path) -> None:
    with scene(works(tmp_path, grade=False)) as made:
        made.step()
        made.leaves(made.sessions()[0])
        assert not made.step()
        assert made.held(only(made)).state is State.DONE


def test_what_the_provider_spoilt_is_tried_again_later_each_time(one: Scene) -> None:
    for wait in (100.0, 200.0):
        one.step()
        one.leaves(one.sessions()[0], EndReason.PROVIDER)
        assert one.step()
        assert one.sessions() == []
        one.step(wait - 1)
        assert one.sessions() == []
        one.step(1)
        assert len(one.sessions()) == 1
    one.leaves(one.sessions()[0], EndReason.PROVIDER)
    assert not one.step()

    held = one.held(only(one))
    assert (held.state, held.tally.spoilt) == (State.FAILED, 3)
    tries = one.ledger.tries(only(one))
    assert [each.outcome for each in tries] == [Outcome.SPOILT] * 3
    assert len({each.run for each in tries}) == 3
    assert len(list(one.work.board.glob("2026*"))) == 3, "all that was spoilt stays"


def test_what_is_the_contenders_own_doing_is_not_tried_again(one: Scene) -> None:
    one.step()
    one.leaves(one.sessions()[0], EndReason.TRUNCATED)
    one.step()
    assert one.held(only(one)).state is State.GRADING


def test_what_another_sweep_moved_aside_first_stops_no_sweep(
    one: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned = Shelf.abandoned

    def and_gone(shelf: Shelf, before: float) -> list[Path]:
        return [shelf.board / f".gone{BEGUN}", *abandoned(shelf, before)]

    monkeypatch.setattr(Shelf, "abandoned", and_gone)
    left = one.work.board / f".left{BEGUN}"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    one.driver.reconcile()
    assert [path.name for path in one.work.aside.iterdir()] == [left.name]


@pytest.mark.parametrize("code", [None, -9, 3, 0])
def test_a_session_that_left_nothing_is_lost_and_what_was_begun_is_moved_aside(
    one: Scene, code: int | None
) -> None:
    one.step()
    (session,) = one.sessions()
    partial = one.work.board / "20260102_000000_codex_works_toy.partial"
    write_whole(partial / "order.json", json_bytes({"cell": session.cell}))
    write_whole(partial / "transcript/stdout.jsonl", b"worth reading")
    one.engine.ends(session, code)
    assert one.step()

    assert one.held(only(one)).tally.lost == 1
    kept = one.work.aside / partial.name
    assert (kept / "transcript/stdout.jsonl").read_bytes() == b"worth reading"
    assert not partial.exists()
    (tried,) = one.ledger.tries(only(one))
    assert tried.outcome is Outcome.LOST
    assert str(kept) in (tried.detail or "")


def test_lost_sessions_are_capped_too(one: Scene) -> None:
    for _ in range(4):
        one.step(1000)
        one.engine.ends(one.sessions()[0], -9)
        one.step()
    assert one.held(only(one)).state is State.FAILED
    assert len(one.engine.started) == 4


def test_what_would_not_work_another_time_is_not_tried_again(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    (session.folder / ERR).write_text("bench.running: codex is not installed\n")
    one.engine.ends(session, 2)
    assert not one.step()

    held = one.held(only(one))
    assert held.state is State.FAILED
    assert "codex is not installed" in (held.detail or "")
    assert "codex is not installed" in "\n".join(lines(one.ledger, one.now(), one.work.board))


def test_a_slip_of_the_supervisors_is_told_and_tried_again(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    (session.folder / ERR).write_text("Traceback (most recent call last):\nKeyError: 'x'\n")
    one.engine.ends(session, 1)
    one.step()

    assert one.held(only(one)).state is State.WAITING
    assert "KeyError" in (one.held(only(one)).detail or "")


def test_an_engine_that_starts_nothing_uses_the_tries_up(tmp_path: Path) -> None:
    with scene(works(tmp_path), engine=Engine(broken=True)) as made:
        while made.step(10_000):
            pass
        assert made.held(only(made)).state is State.FAILED
        assert "starts nothing" in (made.held(only(made)).detail or "")


def test_a_grade_that_failed_is_tried_again_and_its_run_stays(one: Scene) -> None:
    one.step()
    run = one.leaves(one.sessions()[0])
    one.step()
    grade = one.grades()[0]
    (grade.folder / ERR).write_text(
        "grading x\nround 1 of 5: calling\nbench: no device\n  at all\n"
    )
    one.engine.ends(grade, 3)
    one.step()
    assert one.held(only(one)).state is State.RAN
    assert one.held(only(one)).detail == f"{grade.id} left no grade; bench: no device\\n  at all"
    one.step(100)
    one.grade(one.grades()[0])
    one.step()

    assert (one.held(only(one)).state, one.held(only(one)).run) == (State.DONE, run.name)
    assert len([each for each in one.engine.started if each.kind is Kind.AGENT]) == 1


def test_a_run_that_went_away_while_it_was_graded_is_made_anew(one: Scene) -> None:
    one.step()
    run = one.leaves(one.sessions()[0])
    one.step()
    shutil.rmtree(run)
    one.engine.ends(one.grades()[0], 1)
    one.step()
    assert one.held(only(one)).run is None
    assert len(one.sessions()) == 1


def many(tmp_path: Path, **changes: object) -> Work:
    models = [contender(model=f"m{n}") for n in range(3)]
    models += [contender(model=f"n{n}", provider="there") for n in range(3)]
    return works(tmp_path, **{"contenders": models, "attempts": 4, **changes})


def providers(made: Scene) -> list[str]:
    return sorted(str(task.provider) for task in made.sessions())


def test_a_provider_has_as_many_sessions_as_it_has_slots(tmp_path: Path) -> None:
    with scene(many(tmp_path)) as made:
        made.step()
        assert providers(made) == ["here"] * 4 + ["there"] * 2
    with scene(many(tmp_path, slots={"there": 3}, max_parallel=5, board="b")) as made:
        made.step()
        assert len(made.sessions()) == 5


def test_refusals_in_the_log_of_a_proxy_halve_what_is_started(tmp_path: Path) -> None:
    with scene(many(tmp_path, grade=False)) as made:
        made.step()
        first = next(task for task in made.sessions() if task.provider == "here")
        partial = made.work.board / "x.partial"
        write_whole(partial / "order.json", json_bytes({"cell": first.cell}))
        (partial / LOG).write_text(exchange(429) * 4)
        made.step()
        assert as_data(made.ledger)["slots"] == {
            "here": {"allowed": 2, "most": 4}, "there": {"allowed": 2, "most": 2},
        }  # fmt: skip
        for task in [each for each in made.sessions() if each.provider == "here"]:
            made.leaves(task)
        made.step()
        assert providers(made) == ["here"] * 2 + ["there"] * 2
        made.step(CALM_SECONDS)
        assert providers(made) == ["here"] * 3 + ["there"] * 2


def test_grades_are_started_before_sessions_and_where_there_is_room(tmp_path: Path) -> None:
    with scene(many(tmp_path), engine=Engine()) as made:
        made.engine.rooms[Kind.GRADE] = 1
        made.step()
        for task in made.sessions():
            made.leaves(task)
        made.step()
        assert len(made.grades()) == 1
        assert made.ledger.counts()[State.RAN] == 5
        made.grade(made.grades()[0])
        made.step()
        assert len(made.grades()) == 1


def test_sessions_start_in_the_order_of_the_cells(tmp_path: Path) -> None:
    with scene(many(tmp_path, slots={"here": 9, "there": 9}, max_parallel=7)) as made:
        made.step()
        order = [held.cell.key for held in made.ledger.cells()]
        assert [task.cell for task in made.engine.started] == order[:7]


def test_one_wish_starts_nothing_more_and_waits(tmp_path: Path) -> None:
    with scene(many(tmp_path, grade=False)) as made:
        made.step()
        made.wish.append(Wish.DRAIN)
        assert made.step()
        for task in made.sessions():
            assert asked_to_end(task.folder) is None
            made.leaves(task)
        assert not made.step()
        assert made.ledger.counts()[State.DONE] == 6
        assert len(made.engine.started) == 6


def test_another_terminal_may_wish_so_too(tmp_path: Path) -> None:
    with scene(many(tmp_path)) as made:
        made.ledger.tell("wish", Wish.DRAIN.value)
        assert not made.step()
        assert made.engine.started == []
        assert Wish.strongest(Wish.DRAIN, Wish.END, Wish.GO) is Wish.END


def test_a_second_wish_ends_what_runs_once_and_kills_it_if_it_does_not(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    one.wish.append(Wish.END)
    assert one.step()
    assert asked_to_end(session.folder) == signal.SIGTERM
    one.step(PATIENCE_SECONDS - 1)
    assert asked_to_end(session.folder) == signal.SIGTERM
    one.step(1)
    assert asked_to_end(session.folder) == signal.SIGKILL
    one.step()
    assert one.engine.called_off == [session.id]


def test_a_grade_that_tells_nothing_for_too_long_is_ended_and_is_lost(one: Scene) -> None:
    one.step()
    one.leaves(one.sessions()[0])
    one.step()
    (grade,) = one.grades()
    one.step(SILENT_SECONDS)
    assert asked_to_end(grade.folder) is None, "no engine has started it"
    (grade.folder / ERR).write_text("round 1 of 5: importing\n")
    one.step()
    one.step(SILENT_SECONDS - 1)
    (grade.folder / ERR).write_text("round 1 of 5: importing\nround 1 of 5: calling, square\n")
    one.step(2)
    one.step(SILENT_SECONDS - 1)
    assert asked_to_end(grade.folder) is None
    note_driver(one.ledger, this_process())
    told = lines(one.ledger, time.time() + 7100, one.work.board, one.work.tries)
    assert "calling, square, 1 h 58 min ago" in "\n".join(told)
    assert told[1].startswith("grading for "), told
    assert " of 4 h 00 min at most: codex" in told[1], "whoever waits for its GPU wants to know"
    one.step(1)
    assert asked_to_end(grade.folder) == signal.SIGTERM
    one.step(PATIENCE_SECONDS)
    assert asked_to_end(grade.folder) == signal.SIGKILL
    told = lines(one.ledger, time.time(), one.work.board, one.work.tries)
    assert "told to end, as it gave no sign of life" in "\n".join(told)

    one.engine.ends(grade, -9)
    one.step()
    held = one.held(only(one))
    assert (held.state, held.tally.lost) == (State.RAN, 1)
    assert "gave no sign of life" in (held.detail or "")


def test_a_grade_that_was_too_slow_as_a_whole_is_told_and_not_made_again(one: Scene) -> None:
    one.step()
    one.leaves(one.sessions()[0])
    one.step()
    (grade,) = one.grades()
    said = "the grading as a whole took more than 14400 s (import)"
    one.grade(grade, Status.TIMED_OUT.value, said)
    assert not one.step()
    held = one.held(only(one))
    assert (held.state, held.detail) == (State.DONE, f"timed_out: {said}")
    assert len(one.engine.started) == 2


def test_a_session_that_goes_on_long_after_its_budget_is_ended_and_is_lost(one: Scene) -> None:
    """Its supervisor ends it, if nothing holds that."""
    one.step()
    (session,) = one.sessions()
    (session.folder / ERR).write_text("")
    one.step()
    one.step(SILENT_SECONDS + one.work.sweep.budget_seconds + 179)
    assert asked_to_end(session.folder) is None
    one.step(1)
    assert asked_to_end(session.folder) == signal.SIGTERM
    run = one.leaves(session, EndReason.SIGNAL)
    one.step()

    held = one.held(only(one))
    assert (held.state, held.tally.lost) == (State.WAITING, 1)
    assert not run.exists()


def test_no_step_of_a_grade_takes_as_long_as_it_may_be_silent() -> None:
    usual = Patience()
    assert 2 * (usual.build + usual.setup + usual.shape) < SILENT_SECONDS


def test_what_was_stopped_is_moved_aside_and_is_no_failure(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    one.wish.append(Wish.END)
    one.step()
    run = one.leaves(session, EndReason.SIGNAL)
    assert not one.step()

    held = one.held(only(one))
    assert (held.state, held.tally.spoilt, held.tally.lost) == (State.WAITING, 0, 0)
    assert one.ledger.tries()[0].outcome is Outcome.STOPPED
    assert not run.exists()
    assert (one.work.aside / run.name / "manifest.json").is_file()


def test_what_somebody_else_stopped_is_lost(one: Scene) -> None:
    """A machine that shuts down sends SIGTERM to all."""
    one.step()
    one.leaves(one.sessions()[0], EndReason.SIGNAL)
    one.step()
    assert one.held(only(one)).tally.lost == 1


def test_what_never_started_because_of_a_stop_was_stopped(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    one.wish.append(Wish.END)
    one.step()
    one.engine.ends(session, 75)
    one.step()
    assert one.ledger.tries()[0].outcome is Outcome.STOPPED


# What a driver finds that comes after another one.


def test_runs_on_disk_make_cells_done_without_being_started(tmp_path: Path) -> None:
    work = works(tmp_path, attempts=2, grade=False)
    put_run(work, cells(work.sweep, work.hashes())[0], ordered=False)
    with scene(work) as made:
        assert made.ledger.counts()[State.DONE] == 1
        made.step()
        assert len(made.engine.started) == 1


def test_a_run_that_is_not_graded_gets_its_grade(tmp_path: Path) -> None:
    work = works(tmp_path)
    put_run(work, cells(work.sweep, work.hashes())[0])
    with scene(work) as made:
        made.step()
        assert [task.kind for task in made.engine.started] == [Kind.GRADE]


def test_a_cell_whose_run_went_away_is_wanted_again(tmp_path: Path) -> None:
    work = works(tmp_path, grade=False)
    run = put_run(work, cells(work.sweep, work.hashes())[0])
    with scene(work) as made:
        assert made.ledger.counts()[State.DONE] == 1
    shutil.rmtree(run)
    with scene(work) as made:
        assert made.ledger.counts()[State.WAITING] == 1
        assert made.held(only(made)).run is None


def test_grades_wanted_later_are_made_later(tmp_path: Path) -> None:
    work = works(tmp_path, grade=False)
    put_run(work, cells(work.sweep, work.hashes())[0])
    with scene(work) as made:
        assert made.held(only(made)).state is State.DONE
    with scene(works(tmp_path, grade=True)) as made:
        assert made.held(only(made)).state is State.RAN


def test_failed_cells_wait_for_a_person(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        made.engine.ends(made.sessions()[0], 2, "no such thing")
        made.step()
    with scene(work) as made:
        assert not made.step()
        assert made.held(only(made)).state is State.FAILED
    with scene(work, again=True) as made:
        made.step()
        assert len(made.sessions()) == 1


def test_a_failed_grade_waits_for_a_person_and_never_for_a_new_session(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        made.leaves(made.sessions()[0])
        made.step()
        made.engine.ends(made.grades()[0], 2, "no such thing")
        made.step()
        assert made.held(only(made)).state is State.FAILED
    with scene(work) as made:
        assert made.held(only(made)).state is State.FAILED
    with scene(work, again=True) as made:
        made.step()
        assert [task.kind for task in made.engine.started] == [Kind.GRADE]


def test_a_session_that_ended_while_nobody_drove_is_found_done(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        (session,) = made.sessions()
        put_run(work, made.held(session.cell).cell)
    with scene(work) as made:
        assert made.held(only(made)).state is State.RAN
        assert made.ledger.tries()[0].outcome is Outcome.RAN


def test_a_session_that_died_while_nobody_drove_is_started_again_at_once(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        (session,) = made.sessions()
        write_whole(work.board / "x.partial/order.json", json_bytes({"cell": session.cell}))
    with scene(work) as made:
        made.step()
        assert len(made.sessions()) == 1
        assert (work.aside / "x.partial").is_dir()
        assert not at_work(session.folder)


def test_an_empty_folder_of_a_run_is_moved_aside_once_it_is_old(tmp_path: Path) -> None:
    work = works(tmp_path)
    for name, age in (("old", 100), ("new", 0)):
        folder = work.board / f"{name}.partial"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age,) * 2)
    full = work.board / "full.partial"
    write_whole(full / "anything", b"")
    os.utime(full, (0, 0))
    with scene(work):
        assert sorted(path.name for path in work.board.glob("*.partial")) == [
            "full.partial", "new.partial",
        ]  # fmt: skip
        assert (work.aside / "old.partial").is_dir()


def test_what_a_killed_supervisor_had_not_shown_yet_is_moved_aside_once_it_is_old(
    tmp_path: Path,
) -> None:
    work = works(tmp_path)
    for name, age in (("old", 100), ("new", 0)):
        folder = work.board / f".{name}{BEGUN}"
        write_whole(folder / "order.json", json_bytes({"cell": "a"}))
        os.utime(folder, (time.time() - age,) * 2)
    with scene(work):
        assert [path.name for path in work.board.glob(f"*{BEGUN}")] == [f".new{BEGUN}"]
        assert (work.aside / f".old{BEGUN}" / "order.json").is_file()


def at_work_on(task: Task) -> subprocess.Popen[bytes]:
    """A supervisor that works on a try until it is killed."""
    program = "import time; time.sleep(600)"
    write_task(Task(**{**vars(task), "command": (sys.executable, "-c", program)}))
    process = popen(task, "GPU-x")
    while not (task.folder / "lock").is_file() or not (task.folder / "lock").read_bytes():
        time.sleep(0.02)
    return process


def test_a_supervisor_at_work_is_adopted_and_never_doubled(tmp_path: Path) -> None:
    work = works(tmp_path)
    with scene(work) as made:
        made.step()
        (session,) = made.sessions()
    process = at_work_on(session)
    try:
        with scene(work) as made:
            assert made.engine.adopted == {session.id: "GPU-x"}
            assert made.step()
            assert made.engine.started == []
            put_run(work, made.held(session.cell).cell)
            process.kill()
            process.wait()
            made.step()
            assert made.engine.adopted == {}
            assert made.ledger.tries()[0].outcome is Outcome.RAN
    finally:
        process.kill()
        process.wait()


def test_a_supervisor_that_outlives_its_engines_worker_is_adopted(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    process = at_work_on(session)
    try:
        one.engine.ends(session, None)
        one.step()
        assert one.held(only(one)).state is State.RUNNING
        assert list(one.engine.adopted) == [session.id]
    finally:
        process.kill()
        process.wait()
    one.step()
    assert one.held(only(one)).tally.lost == 1


def test_a_ledger_that_was_lost_is_made_again_from_what_is_there(tmp_path: Path) -> None:
    work = works(tmp_path, attempts=3, grade=False)
    with scene(work) as made:
        made.step()
        first, second, third = made.sessions()
        made.leaves(first)
        made.step()
    process = at_work_on(second)
    try:
        for path in work.ledger.parent.glob("night.sqlite*"):
            path.unlink()
        with scene(work) as made:
            assert made.held(first.cell).state is State.DONE
            assert made.held(second.cell).state is State.RUNNING
            assert made.held(third.cell).state is State.WAITING
            assert list(made.engine.adopted) == [second.id]
    finally:
        process.kill()
        process.wait()


def test_cells_that_are_not_asked_for_any_more_are_told_and_not_started(tmp_path: Path) -> None:
    with scene(many(tmp_path)) as made:
        made.step()
        assert len(made.sessions()) == 6
    with scene(many(tmp_path, attempts=1)) as made:
        made.step()
        assert "asked for before, and not any more: 18 cells" in "\n".join(
            lines(made.ledger, 0, made.work.board)
        )
        assert sum(made.ledger.counts().values()) == 6


def test_status_tells_what_is_under_way_and_what_is_put_off(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    one.now.wait(120)
    told = lines(one.ledger, one.now(), one.work.board)
    assert told[0] == "0 of 1 done, 1 running; nobody drives it; `run` goes on with it"
    assert told[1].startswith("running for 2 min: codex · works, toy, attempt 1")
    one.leaves(session, EndReason.PROVIDER)
    one.step()
    assert "again in 1 min, after 1 failed" in lines(one.ledger, one.now(), one.work.board)[1]


def test_status_counts_the_cells_of_each_contender(tmp_path: Path) -> None:
    with scene(many(tmp_path, attempts=1)) as made:
        made.step()
        running, waiting = HEADINGS.index("running"), HEADINGS.index("waiting")
        told = rows(made.ledger)
        assert len(told) == 6
        assert sum(int(row[running]) for row in told) == 5
        assert all(int(row[running]) + int(row[waiting]) == 1 for row in told)


def test_a_stop_is_written_where_the_try_lies(one: Scene) -> None:
    one.step()
    (session,) = one.sessions()
    one.wish.append(Wish.END)
    one.step()
    assert (session.folder / STOP).is_file()
    assert one.work.tries in session.folder.parents
