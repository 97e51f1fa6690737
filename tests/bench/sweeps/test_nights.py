"""What a night brings: a full disk, a provider that is down, a clock set back, a dead driver."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import pytest

from bench.doctor.machine import LEAST_DISK
from bench.proxy.troubles import Trouble
from bench.sweeps import conduct, room
from bench.sweeps.cells import Cell
from bench.sweeps.conduct import ask_to_stop, drive
from bench.sweeps.driver import Wish
from bench.sweeps.executors.form import Finished
from bench.sweeps.ledger import Ledger
from bench.sweeps.outages import TELLING, Outage
from bench.sweeps.refusals import LOG, Failure
from bench.sweeps.room import is_of_room
from bench.sweeps.sheet import Retries
from bench.sweeps.shown import DRIVER, as_data, lines
from bench.sweeps.states import Outcome, State
from bench.sweeps.tries import ERR, this_process, write_task
from bench.sweeps.works import Work
from kbsite.errors import MachineError
from kbsite.model.status import EndReason
from tests.bench.sweeps.engines import Engine, Scene, scene
from tests.bench.sweeps.sweeps import Even, Ticks, contender, exchange, put_run, works

ROOT = Path(__file__).parents[3]
FULL = OSError(errno.ENOSPC, "No space left on device")
HOUR = 3600.0


def only(made: Scene) -> str:
    (held,) = made.ledger.cells()
    return held.cell.key


# A full disk.


def test_a_full_disk_loses_nothing_and_the_sweep_goes_on_when_there_is_room(tmp_path: Path) -> None:
    home = tmp_path / "disk"
    home.mkdir()
    words = ["unshare", "--map-root-user", "--mount", sys.executable, "-m",
             "tests.bench.sweeps.full_disk", str(home)]  # fmt: skip
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    assert told["outcomes"] == ["lost", "ran", "graded"], "a crash without a word is no refusal"
    assert told["counts"]["done"] == 1
    assert told["starts"] == 2
    assert told["kept"] == ["worth reading"]
    first, second = told["said"]
    assert "nothing is started until there is room" in first
    assert second == "there is room again: the sweep goes on"


def test_nothing_is_started_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [100 << 20]
    monkeypatch.setattr(room, "free", lambda _: free[-1])
    with scene(works(tmp_path)) as made:
        said: list[str] = []
        made.driver.say = said.append
        assert made.step()
        assert made.step()
        assert made.engine.started == []
        (told,) = said
        assert told.startswith("100 MiB are free on the disk of ")
        assert told in lines(made.ledger, made.now(), made.work.board)
        free.append(LEAST_DISK)
        made.step()
        assert len(made.sessions()) == 1
        assert said[1:] == ["there is room again: the sweep goes on"]
    assert room.LEAST_BYTES == LEAST_DISK, "what the doctor asks for"


class Moody(Ledger):
    """A ledger whose disk is full now and then."""

    full = False

    def end(self, *given: object) -> None:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        super().end(*given)  # type: ignore[arg-type]


def test_what_could_not_be_written_down_is_written_down_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.sweeps.driver.is_of_room", lambda *_: True)
    monkeypatch.setattr("tests.bench.sweeps.engines.Ledger", Moody)
    with scene(works(tmp_path, grade=False)) as made:
        made.step()
        made.leaves(made.sessions()[0])
        monkeypatch.setattr(Moody, "full", True)
        assert made.driver._went_on()
        assert made.held(only(made)).state is State.RUNNING
        made.wish.append(Wish.DRAIN)
        with pytest.raises(sqlite3.OperationalError):
            made.driver._went_on()
        monkeypatch.setattr(Moody, "full", False)
        assert not made.driver._went_on()
        assert made.held(only(made)).state is State.DONE


def test_what_is_of_room_is_told_from_what_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_of_room(FULL, tmp_path)
    assert is_of_room(OSError(errno.EDQUOT, "quota"), tmp_path)
    assert not is_of_room(OSError(errno.EROFS, "read-only"), tmp_path)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    monkeypatch.setattr(room, "free", lambda _: 10 << 30)
    assert not is_of_room(error, tmp_path)
    monkeypatch.setattr(room, "free", lambda _: 0)
    assert is_of_room(error, tmp_path)
    assert not is_of_room(sqlite3.OperationalError("no such table"), tmp_path)


def test_a_transaction_that_finds_no_room_leaves_the_ledger_in_use(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite", Ticks()) as ledger:
        (pages,) = ledger._base.execute("PRAGMA page_count").fetchone()
        ledger._base.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError, match="full") as caught, ledger._whole():
            ledger.tell("much", "x" * 100_000)
        assert is_of_room(caught.value, tmp_path)
        ledger._base.execute("PRAGMA max_page_count = 1000000")
        with ledger._whole():
            ledger.tell("little", "y")
        assert (ledger.told("much"), ledger.told("little")) == (None, "y")


def test_a_disk_that_cannot_be_written_is_told_in_one_message(tmp_path: Path) -> None:
    work = works(tmp_path)
    work.places.runs.write_text("no folder can be made here")
    with pytest.raises(MachineError, match=r"cannot be written, or read.*then run the sweep"):
        drive(work, lambda *_: None, lambda _: None)
    work.places.runs.unlink()
    work.ledger.mkdir(parents=True)
    with pytest.raises(MachineError, match=r"the ledger cannot be opened.*nothing is lost"):
        drive(work, lambda *_: None, lambda _: None)
    assert not work.tries.exists()


def test_a_stop_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scene(works(tmp_path)) as made:
        made.step()
        monkeypatch.setattr(conduct, "end", lambda *_: (_ for _ in ()).throw(FULL))
        with pytest.raises(MachineError, match="No space left on device"):
            ask_to_stop(made.work, at_once=True)


# A provider that is down.


def down(made: Scene, status: int | None = 503) -> None:
    """All sessions under way end because their provider fails."""
    all_end(made, lambda _: True, exchange(status))


def night(tmp_path: Path, **changes: object) -> Work:
    models = [contender(model=f"m{n}") for n in range(6)]
    retries = {"most": 1, "backoff_seconds": 60.0, "longest_seconds": 900.0}
    return works(tmp_path, **{"contenders": models, "grade": False, "retries": retries, **changes})


def test_a_provider_that_is_down_for_an_hour_costs_no_cell(tmp_path: Path) -> None:
    with scene(night(tmp_path)) as made:
        made.step()
        assert len(made.sessions()) == 4
        asked = []
        while made.now.at < 1000 + HOUR:
            down(made)
            made.step(10)
            asked.append(len(made.sessions()))
        assert max(asked) == 1
        assert sum(asked) < 12, "it is asked less and less often"
        counts = made.ledger.counts()
        assert counts[State.FAILED] == 0
        assert Outcome.DOWN in {one.outcome for one in made.ledger.tries()}
        while not made.sessions():
            made.step(10)
        (probe,) = made.sessions()
        partial = made.work.board / "probe.partial"
        (made.work.board / "probe.partial").mkdir()
        (partial / "order.json").write_text(json.dumps({"cell": probe.cell}))
        (partial / LOG).write_text(exchange())
        made.step()
        assert len(made.sessions()) == 4, "its first answer is enough"


def test_who_asks_is_told_that_a_provider_is_down(tmp_path: Path) -> None:
    with scene(night(tmp_path)) as made:
        made.ledger.tell(DRIVER, json.dumps(asdict(this_process())))
        made.step()
        down(made)
        made.step(30)
        told = lines(made.ledger, made.now() + 20, made.work.board)
        line = (
            "here is down for 20 s: one session tries it in 40 s, and its other cells wait; "
            "here answered with status 503, the provider is overloaded"
        )
        assert line in told
        for held in made.ledger.cells():
            if held.state is State.WAITING:
                made.ledger.found(held.cell.key, State.WAITING, State.FAILED, None)
        assert line not in lines(made.ledger, made.now() + 20, made.work.board), "nobody asks it"
        made.step(1000)
        made.driver._outages.answered(made.work.sweep.contenders[0])
        made.step()
        assert not [one for one in lines(made.ledger, 0, made.work.board) if "is down" in one]


def all_end(made: Scene, fails: Callable[[Cell], bool], last: str = exchange(500)) -> None:
    """All sessions under way end: the provider failed, or it answered and they are done."""
    for task in made.sessions():
        cell = made.held(task.cell).cell
        if fails(cell):
            told, files = {"end_reason": EndReason.PROVIDER}, {LOG: last}
        else:
            told, files = {}, {LOG: exchange()}
        put_run(made.work, cell, told=told, files=files)
        made.engine.ends(task)


@pytest.mark.parametrize("slots", [1, 4])
def test_a_model_that_is_down_keeps_no_other_model_of_its_provider_waiting(
    tmp_path: Path, slots: int
) -> None:
    models = [contender(model="broken"), contender(model="sound")]
    with scene(night(tmp_path, contenders=models, attempts=5, slots={"here": slots})) as made:
        made.ledger.tell(DRIVER, json.dumps(asdict(this_process())))
        for _ in range(15):
            made.step(10)
            all_end(made, lambda cell: cell.contender.model == "broken")
        tried = [made.held(one.cell).cell.contender.model for one in made.ledger.tries()]
        assert tried.count("sound") == 5
        assert made.ledger.counts()[State.DONE] == 5
        assert made.ledger.counts()[State.FAILED] == 0, "what waiting may mend costs no cell"
        (line,) = (one for one in lines(made.ledger, made.now(), made.work.board) if " down" in one)
        assert line.startswith("broken at here is down for ")


def test_contenders_take_turns_to_ask_a_provider_that_is_down(tmp_path: Path) -> None:
    """A CLI whose own requests make it fail does not ask alone for all night."""
    names = [contender(harness=name) for name in ("codex", "kimi-code")]
    with scene(night(tmp_path, contenders=names, attempts=3)) as made:
        made.step()
        all_end(made, lambda _: True)
        made.step()
        assert made.sessions() == []
        while made.ledger.counts()[State.DONE] < 3 and made.now.at < 1000 + HOUR:
            made.step(10)
            all_end(made, lambda cell: cell.contender.harness == "codex")
        assert made.now.at < 1000 + 600


def test_a_provider_that_answers_again_is_asked_for_all_its_models(tmp_path: Path) -> None:
    names = [contender(model=name) for name in ("one", "other")]
    with scene(night(tmp_path, contenders=names, attempts=4)) as made:
        for _ in range(60):
            made.step(10)
            all_end(made, lambda _: True)
        assert made.ledger.told("failing here") is not None
        while made.ledger.told("failing here") is not None:
            all_end(made, lambda _: False)
            made.step(10)
        assert {made.held(one.cell).cell.contender.model for one in made.sessions()} == {
            "one", "other",
        }  # fmt: skip


@pytest.mark.parametrize("status", [400, 413])
def test_what_waiting_does_not_mend_is_no_outage(tmp_path: Path, status: int) -> None:
    with scene(night(tmp_path)) as made:
        made.step()
        down(made, status)
        made.step()
        assert Outcome.DOWN not in {one.outcome for one in made.ledger.tries()}


# A provider that refuses.

NO_CREDIT = exchange(429, error="insufficient_quota: You exceeded your current quota")


def two_providers(tmp_path: Path, **changes: object) -> Work:
    names = [contender(model="a"), contender(model="b"), contender(model="c", provider="there")]
    return night(tmp_path, contenders=names, attempts=4, **changes)


def is_here(cell: Cell) -> bool:
    return cell.contender.provider == "here"


def test_a_provider_that_refuses_costs_no_cell_and_keeps_no_other_waiting(tmp_path: Path) -> None:
    with scene(two_providers(tmp_path)) as made:
        told: list[str] = []
        made.driver.say = told.append
        while made.now.at < 1000 + HOUR:
            made.step(60)
            all_end(made, is_here, NO_CREDIT)
        tries = made.ledger.tries()
        asked = [one for one in tries if is_here(made.held(one.cell).cell)]
        assert len(asked) < 15
        assert {one.outcome for one in asked if one.ended} == {Outcome.DOWN}
        assert {(one.state, one.tally.spoilt) for one in made.ledger.cells()} == {
            (State.WAITING, 0), (State.DONE, 0),
        }  # fmt: skip
        assert made.ledger.counts()[State.DONE] == 4
        assert told[-1].startswith("here has refused sessions for ")
        assert told[-1].endswith("; a person has to mend that")
        assert len(told) <= 3, "each model, and then the provider"
        while made.ledger.counts()[State.DONE] < 12:
            made.step(10)
            all_end(made, lambda _: False)
        assert not made.step()
        assert {"a at here answers again", "here answers again"} <= set(told[-3:])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "access was refused to this key, or to this model"),
        (404, "it has no such model for this key, or nothing at this address"),
    ],
)
def test_a_model_that_an_account_may_not_use_keeps_its_own_cells_waiting(
    tmp_path: Path, status: int, said: str
) -> None:
    with scene(two_providers(tmp_path)) as made:
        told: list[str] = []
        made.driver.say = told.append
        for _ in range(15):
            made.step(60)
            all_end(made, lambda cell: cell.contender.model == "a", exchange(status))
        assert made.ledger.counts()[State.DONE] == 8
        assert made.ledger.counts()[State.FAILED] == 0
        (line,) = told
        assert line.startswith("a at here has refused sessions for ")
        assert said in line


def test_nobody_waits_all_day_for_a_provider_that_refuses(tmp_path: Path) -> None:
    work = two_providers(tmp_path, retries={"outage_seconds": HOUR})
    with scene(work) as made:
        told: list[str] = []
        made.driver.say = told.append
        while made.step(120):
            all_end(made, is_here, exchange(401))
        assert HOUR < made.now.at - 1000 < 3 * HOUR
        assert {state: count for state, count in made.ledger.counts().items() if count} == {
            State.WAITING: 8, State.DONE: 4,
        }  # fmt: skip
        made.driver.run(lambda *_: None)
        said = "here answered with status 401, the key was refused"
        left = (
            f"here refused sessions when it was asked last: {said}; mend that, then `run` goes on"
        )
        assert told[-1] == left
        assert left in lines(made.ledger, made.now(), made.work.board)
        (down,) = cast("list[dict[str, object]]", as_data(made.ledger)["down"])
        assert (down["provider"], down["model"], down["why"]) == ("here", None, said)
    with scene(work) as made:
        assert made.ledger.told("failing here") is None
        made.step(3 * HOUR)
        assert len(made.sessions()) == 4


def test_a_cell_that_its_provider_refuses_keeps_no_other_waiting(tmp_path: Path) -> None:
    """As what a provider takes for harmful: it fails for itself."""
    models = [contender(model="only")]
    with scene(night(tmp_path, contenders=models, attempts=4, slots={"here": 1})) as made:
        flagged = made.ledger.cells()[0].cell.key
        while made.step(30):
            all_end(made, lambda cell: cell.key == flagged, exchange(403))
        assert made.now.at < 1000 + HOUR
        counts = made.ledger.counts()
        assert (counts[State.DONE], counts[State.FAILED]) == (3, 1)
        assert "access was refused" in (made.held(flagged).detail or "")


def test_a_sweep_that_waits_for_nobody_ends_when_all_that_is_left_is_refused(
    tmp_path: Path,
) -> None:
    with scene(night(tmp_path, contenders=[contender()], retries={"outage_seconds": 0.0})) as made:
        made.step()
        down(made, 401)
        made.step()
        assert not made.step(1)
        assert made.ledger.counts()[State.WAITING] == 1


FAILED = Failure(trouble=Trouble.SERVER, sentence="here failed")


def outage(now: Ticks, outage_seconds: float = 12 * HOUR) -> Outage:
    return Outage(Retries(outage_seconds=outage_seconds), now.steady, Even())


def test_one_session_that_failed_says_nothing_of_a_provider() -> None:
    one = outage(Ticks())
    assert not one.failed(FAILED)
    assert (one.down, one.most(4), one.wait_seconds) == (False, 4, 0.0)
    one.answered()
    assert not one.failed(FAILED)
    assert TELLING == 2
    assert one.failed(FAILED)
    assert (one.down, one.most(4), one.wait_seconds) == (True, 0, 60.0)


def test_sessions_that_fail_together_are_one_sign() -> None:
    now = Ticks()
    one = outage(now)
    for _ in range(4):
        one.failed(FAILED)
    assert one.wait_seconds == 60.0
    now.wait(60)
    assert one.most(4) == 1
    one.failed(FAILED)
    assert one.wait_seconds == 120.0
    one.answered()
    assert one.most(4) == 4


def test_an_outage_without_an_end_is_given_up_and_still_counts_for_no_cell() -> None:
    now = Ticks()
    one = outage(now, outage_seconds=HOUR)
    one.failed(FAILED)
    assert one.failed(FAILED)
    assert not one.given_up
    now.wait(HOUR + 1)
    assert one.given_up
    assert one.failed(FAILED)
    one.answered()
    assert not one.given_up


# A clock that is set back, and half a sweep that is dead.


def test_a_clock_that_is_set_back_puts_nothing_off(tmp_path: Path) -> None:
    with scene(works(tmp_path)) as made:
        made.step()
        made.leaves(made.sessions()[0], EndReason.PROVIDER)
        made.now.set_back = -2 * HOUR
        made.step()
        assert made.sessions() == []
        made.now.set_back = 0
        made.step()
        assert len(made.sessions()) == 1
        made.now.set_back = 24 * HOUR
        assert lines(made.ledger, made.now(), made.work.board)[1].startswith("running for 0 s")


def test_status_tells_what_is_dead_and_what_is_alive(tmp_path: Path) -> None:
    with scene(works(tmp_path)) as made:
        made.step()
        first, second = lines(made.ledger, made.now(), made.work.board)
        assert first == "0 of 1 done, 1 running; nobody drives it; `run` goes on with it"
        assert second.endswith("nothing works on it any more: `run` finds out what is left of it")
        who = this_process()
        made.ledger.tell(DRIVER, json.dumps(asdict(who)))
        first, second = lines(made.ledger, made.now(), made.work.board)
        assert f"driven by process {os.getpid()}" in first
        assert second.endswith("attempt 1")
        made.ledger.tell(DRIVER, json.dumps(asdict(replace(who, host="far"))))
        first = lines(made.ledger, made.now(), made.work.board)[0]
        assert "driven from far, where `status` tells whether it still is" in first


def test_a_cli_that_one_node_lacks_is_told_with_the_node(tmp_path: Path) -> None:
    with scene(works(tmp_path)) as made:
        made.step()
        (session,) = made.sessions()
        far = {**asdict(this_process()), "host": "node-7"}
        (session.folder / "lock").write_text(json.dumps(far))
        made.engine.ends(session, 3, "bench.running: codex is not installed in /clis")
        made.step()
        held = made.held(only(made))
        assert (held.state, held.tally.lost) == (State.WAITING, 1)
        assert "; on node-7; bench.running: codex is not installed" in (held.detail or "")


def test_a_try_that_cannot_be_held_on_a_full_disk_is_tried_again(tmp_path: Path) -> None:
    """Exit code 1 means that a file is wrong, and nothing else."""
    with scene(works(tmp_path), engine=Engine()) as made:
        made.step()
        (session,) = made.sessions()
        write_task(session)
        (session.folder / "lock").mkdir()
        words = [sys.executable, "-m", "bench.sweeps.hold", str(session.folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, "cannot be started: " in done.stderr) == (3, True)
        (session.folder / "lock").rmdir()
        (session.folder / ERR).write_text(done.stderr)
        made.engine.over.append(Finished(id=session.id, exit_code=3))
        made.step()
        assert made.held(only(made)).state is State.WAITING
