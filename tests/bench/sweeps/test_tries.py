"""Tries: held by a lock as long as somebody works on them, and never started once given up."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.sweeps.executors.carry import carry
from bench.sweeps.executors.local import popen
from bench.sweeps.hold import GIVEN_UP
from bench.sweeps.states import Kind
from bench.sweeps.tries import (
    ERR,
    LOCK,
    ORDER_PLACE,
    OUT,
    STOP,
    Holder,
    Task,
    alive,
    asked_to_end,
    at_work,
    clear,
    end,
    first_to_send,
    hold,
    holder,
    locked,
    read_task,
    scratch,
    this_process,
    write_task,
)
from kbsite.errors import InputError

PRINTS = "import os, sys; print(open(sys.argv[1]).read(), os.environ.get('CUDA_VISIBLE_DEVICES'))"
WAITS = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
    "print('here', flush=True)\n"
    "time.sleep(600)\n"
)
CARRIES = (
    "import sys\nfrom bench.sweeps.executors.carry import carry\nsys.exit(carry(sys.argv[1]))\n"
)

Started = Callable[[Task], subprocess.Popen[bytes]]


@pytest.fixture(name="start")
def _start() -> Iterator[Started]:
    processes: list[subprocess.Popen[bytes]] = []

    def start(task: Task) -> subprocess.Popen[bytes]:
        write_task(task)
        processes.append(popen(task, None))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def task(at: Path, program: str, *words: str, kind: Kind = Kind.AGENT) -> Task:
    # Temporary files of all tries of a host lie in one folder, by their names.
    folder = at.with_name(f"{at.name}-{secrets.token_hex(4)}")
    return Task(folder=folder, cell="c", kind=kind, command=(sys.executable, "-c", program, *words))


def until(true: Callable[[], object]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in a minute")


def said(one: Task) -> str:
    path = one.folder / OUT
    return path.read_text() if path.is_file() else ""


def test_a_task_comes_back_as_it_was_written(tmp_path: Path) -> None:
    one = task(tmp_path / "t", "pass")
    write_task(one)

    assert read_task(one.folder) == one
    (one.folder / "task.json").write_text("{}")
    with pytest.raises(InputError, match="not the task"):
        read_task(one.folder)


def test_what_is_started_holds_its_lock_as_long_as_it_lives(tmp_path: Path, start: Started) -> None:
    one = task(tmp_path / "t", WAITS)
    process = start(one)
    until(lambda: "here" in said(one))

    assert at_work(one.folder)
    who = holder(one.folder)
    assert who is not None
    assert (who.pid, alive(who)) == (process.pid, True)
    process.kill()
    process.wait()
    assert not at_work(one.folder)
    assert not alive(who)


def test_a_signal_reaches_who_holds_it_once(tmp_path: Path, start: Started) -> None:
    one = task(tmp_path / "t", WAITS)
    process = start(one)
    until(lambda: "here" in said(one))
    end(one.folder, signal.SIGTERM)
    end(one.folder, signal.SIGTERM)

    assert process.wait(60) == 9
    assert asked_to_end(one.folder) == signal.SIGTERM
    end(one.folder, signal.SIGKILL)


def test_what_was_given_up_before_it_started_never_starts(tmp_path: Path, start: Started) -> None:
    one = task(tmp_path / "t", "print('here')")
    write_task(one)
    assert not at_work(one.folder)

    assert start(one).wait(60) == GIVEN_UP
    assert said(one) == ""
    assert "given up" in (one.folder / ERR).read_text()


def test_what_was_told_to_end_before_it_started_never_starts(
    tmp_path: Path, start: Started
) -> None:
    one = task(tmp_path / "t", "print('here')")
    write_task(one)
    end(one.folder, signal.SIGTERM)

    assert start(one).wait(60) == GIVEN_UP
    assert said(one) == ""


def test_nobody_starts_what_another_holds_or_held(tmp_path: Path, start: Started) -> None:
    one = task(tmp_path / "t", WAITS)
    process = start(one)
    until(lambda: "here" in said(one))
    second = replace(one)
    assert popen(second, None).wait(60) == GIVEN_UP
    process.kill()
    process.wait()
    assert popen(second, None).wait(60) == GIVEN_UP


def test_an_order_and_a_gpu_reach_the_program(tmp_path: Path) -> None:
    order = {"order": {"cell": "c", "gpu": None}, "runs": "/r"}
    one = replace(task(tmp_path / "t", PRINTS, ORDER_PLACE), order=order)
    write_task(one)
    assert popen(one, "GPU-x").wait(60) == 0

    told = said(one).strip()
    assert json.loads(told.removesuffix("None")) == {
        "order": {"cell": "c", "gpu": "GPU-x"}, "runs": "/r",
    }  # fmt: skip
    who = holder(one.folder)
    assert who is not None
    assert who.gpu == "GPU-x"


def test_a_grade_sees_its_gpu_alone(tmp_path: Path) -> None:
    program = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    one = task(tmp_path / "t", program, kind=Kind.GRADE)
    write_task(one)
    assert popen(one, "GPU-x").wait(60) == 0
    assert said(one).strip() == "GPU-x"


def test_a_number_that_is_another_processs_by_now_is_left_alone(
    tmp_path: Path, start: Started
) -> None:
    one = task(tmp_path / "t", WAITS)
    process = start(one)
    until(lambda: "here" in said(one))
    told = json.loads((one.folder / LOCK).read_text())
    for wrong in ({"started": 1}, {"boot": "another"}, {"host": "elsewhere"}):
        (one.folder / LOCK).write_text(json.dumps({**told, **wrong}))
        end(one.folder, signal.SIGKILL)
        assert not alive(Holder(**{**told, **wrong}))
    assert process.poll() is None


def test_an_engines_worker_passes_on_what_is_asked(tmp_path: Path) -> None:
    """Where the host is another one, the file is all that reaches it."""
    one = task(tmp_path / "t", WAITS)
    write_task(one)
    program = (
        "import sys; from bench.sweeps.executors.carry import carry; sys.exit(carry(sys.argv[1]))"
    )
    carrying = subprocess.Popen([sys.executable, "-c", program, str(one.folder)])
    until(lambda: "here" in said(one))
    (one.folder / STOP).write_text(str(int(signal.SIGTERM)))

    assert carrying.wait(60) == 9


def test_temporary_files_go_with_the_try_however_it_ended(tmp_path: Path, start: Started) -> None:
    program = f"import tempfile; print(tempfile.mkdtemp(), flush=True)\n{WAITS}"
    one = task(tmp_path / "t", program)
    process = start(one)
    until(lambda: "here" in said(one))
    left = Path(said(one).splitlines()[0])
    process.kill()
    process.wait()
    assert left.is_dir()
    clear(one.folder)
    assert not left.parent.exists()
    assert left.parent.parent.is_dir()


def test_a_link_in_place_of_temporary_files_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    place = scratch(tmp_path / "t-link")
    place.symlink_to(precious, target_is_directory=True)
    try:
        clear(tmp_path / "t-link")
        assert precious.is_dir()
    finally:
        place.unlink()


def test_what_is_no_more_is_cleared_without_a_word(tmp_path: Path) -> None:
    clear(tmp_path / "gone")
    assert not scratch(tmp_path / "gone").exists()


def test_an_engines_worker_tells_the_exit_code(tmp_path: Path) -> None:
    one = task(tmp_path / "t", "raise SystemExit(7)")
    write_task(one)
    assert carry(str(one.folder)) == 7


def test_signals_that_an_engine_ignores_or_blocks_reach_what_it_starts(tmp_path: Path) -> None:
    """As raylets do; sandboxes wait for SIGCHLD."""
    program = (
        "import signal\n"
        "print(signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL, signal.pthread_sigmask(0, ()))"
    )
    one = task(tmp_path / "t", program)
    write_task(one)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGCHLD})
    try:
        assert carry(str(one.folder)) == 0
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGCHLD, before)
    assert said(one).strip() == "True set()"


def test_an_exit_code_is_told_where_the_end_of_processes_is_ignored(tmp_path: Path) -> None:
    one = task(tmp_path / "t", "raise SystemExit(7)")
    write_task(one)
    carries = f"import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{CARRIES}"
    carrying = subprocess.run([sys.executable, "-c", carries, str(one.folder)], check=False)
    assert carrying.returncode == 7


def test_a_signal_is_sent_by_one_of_those_that_want_it(tmp_path: Path) -> None:
    assert [first_to_send(tmp_path, 15) for _ in range(3)] == [True, False, False]
    assert first_to_send(tmp_path, 9)


def test_a_lock_of_a_file_is_one_processs(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as mine:
        assert mine
        with locked(tmp_path / "lock") as other:
            assert not other
    with locked(tmp_path / "lock") as again:
        assert again


def test_a_try_without_a_folder_is_nobodys(tmp_path: Path) -> None:
    assert not at_work(tmp_path / "gone")
    assert holder(tmp_path / "gone") is None
    assert asked_to_end(tmp_path / "gone") is None


def test_this_process_is_alive_and_holds_once(tmp_path: Path) -> None:
    assert alive(this_process())
    descriptor = hold(tmp_path, None)
    assert descriptor is not None
    assert hold(tmp_path, None) is None
    os.close(descriptor)
