"""A frozen box does nothing at all, and goes on where it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.sandbox.box import Sandbox, Sandboxed
from bench.sandbox.freezer import Freezer
from bench.sandbox.group_places import places
from bench.sandbox.groups import KEPT_BY_KERNEL
from bench.sandbox.processes import family, stopped
from bench.sandbox.threads import Code, Stand, is_call, stands
from tests.bench.sandbox.boxes import LIMITS, WALLED_IN, sandbox, started, works

__all__ = ["sandbox"]


@pytest.fixture(params=[KEPT_BY_KERNEL, "signals"], autouse=True)
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By what boxes are frozen: by a control group where one can be had, and by signals."""
    if request.param == KEPT_BY_KERNEL and "freezer" in places():
        return KEPT_BY_KERNEL
    without = {name: above for name, above in places().items() if name != "freezer"}
    monkeypatch.setattr("bench.sandbox.groups.places", lambda: without)
    return "signals"


def all_stopped(box: Sandboxed, means: str) -> bool:
    """Whether all stand still, as the kernel shows it to anybody."""
    found = family(box.pid)
    if means == "signals":
        return all(stopped(one) for one in found)
    groups = [Path(f"/proc/{one}/cgroup").read_text().splitlines() for one in found]
    names = {line.removeprefix("0::/") for lines in groups for line in lines if line[:3] == "0::"}
    events = [places()["freezer"] / name / "cgroup.events" for name in names]
    return [one.read_text().splitlines()[-1] for one in events] == ["frozen 1"]


AT_WORK = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(0.05)
print("at work", flush=True)
while True:
    pass
"""

COUNTING = """
import os, threading, time
def count():
    while True:
        open("/tmp/alive", "w").write(str(time.monotonic()))
        print("x", flush=True)
        time.sleep(0.001)
for _ in range(2):
    threading.Thread(target=count, daemon=True).start()
if os.fork() == 0 and os.fork() == 0:
    os.setsid()
count()
"""


def grown(log: Path, seconds: float) -> int:
    before = log.stat().st_size if log.exists() else 0
    time.sleep(seconds)
    return (log.stat().st_size if log.exists() else 0) - before


def rests(log: Path) -> bool:
    """Whether nothing more is printed, once what was printed before has come."""
    return any(grown(log, 0.3) == 0 for _ in range(5))


def until_it_grows(log: Path) -> None:
    for _ in range(3000):
        if grown(log, 0.02):
            return
    raise AssertionError("it never printed anything")


def test_threads_children_and_daemons_stand_still_until_they_are_let_go(
    sandbox: Sandbox, tmp_path: Path, means: str
) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + COUNTING, limits=LIMITS) as box:
        assert box.facts["freezing"] == means
        until_it_grows(log)
        assert box.freeze(10.0)
        assert all_stopped(box, means)
        assert rests(log)
        box.thaw()
        until_it_grows(log)
        assert box.freeze(10.0)
        box.thaw()


WOKEN = """
import ctypes, signal, time
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int),
                ("rest", ctypes.c_char * 48)]
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None)
event, timer = Event(signo=signal.SIGCONT, notify=0), ctypes.c_void_p()
libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer))
while True:
    # Put off as long as this runs.
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 100_000_000), None)
    print("x", flush=True)
    time.sleep(0.005)
"""


def test_who_has_a_timer_to_go_on_by_did_not_stand_still_or_had_to(
    sandbox: Sandbox, tmp_path: Path, means: str
) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + WOKEN) as box:
        until_it_grows_once(log)
        assert box.freeze(10.0)
        went_on = not rests(log)

        assert box.stood_still() != went_on
        assert went_on == (means == "signals")


def test_who_stands_still_is_known_to(sandbox: Sandbox, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + COUNTING, limits=LIMITS) as box:
        until_it_grows(log)
        for _ in range(3):
            assert box.freeze(10.0)
            time.sleep(0.1)
            assert box.stood_still()
            box.thaw()


def test_a_frozen_box_can_be_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + COUNTING) as box:
        until_it_grows(log)
        assert box.freeze(10.0)
        box.kill()

        assert not box.running()
        assert box.freeze(1.0)


def test_who_starts_processes_all_the_time_is_stopped_or_told_of(
    sandbox: Sandbox, tmp_path: Path, means: str
) -> None:
    forking = """
import os
print("x", flush=True)
while True:
    try:
        if os.fork() == 0:
            os._exit(0)
        os.waitpid(-1, 0)
    except OSError:
        pass
"""
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + forking) as box:
        until_it_grows_once(log)
        if box.freeze(10.0):
            assert all_stopped(box, means)


def test_a_frozen_box_ends_with_the_process_that_started_it(
    sandbox: Sandbox, tmp_path: Path, means: str
) -> None:
    program = f"""
import time
from pathlib import Path
from bench.sandbox import groups, named
from bench.sandbox.box import Box
if {means!r} == "signals":
    groups.places = lambda: {{}}
box = Box(log=Path({str(tmp_path / "log")!r}))
held = named({sandbox.name!r}).start(["/bin/sh", "-c", "while :; do :; done"], box)
print(held.freeze(10.0), held.pid, held.init, flush=True)
time.sleep(100)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        frozen, *inside = starter.stdout.readline().split()
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    assert frozen == b"True"
    until = time.monotonic() + 30
    while any(Path(f"/proc/{int(one)}").exists() for one in inside):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert works(sandbox, tmp_path / "log")


def test_what_is_gone_stands_still_and_is_let_go_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "group").mkdir()
    for name, text in (("cgroup.freeze", ""), ("cgroup.events", "populated 1\nfrozen 0\n")):
        (tmp_path / "group" / name).write_text(text)
    freezer = Freezer(tmp_path / "group")
    assert not freezer.freeze(0.01), "one of them runs on"
    assert (tmp_path / "group" / "cgroup.freeze").read_text() == "1"
    (tmp_path / "group" / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    assert freezer.freeze(0.01), "nobody is left to run"
    freezer.thaw()
    assert (tmp_path / "group" / "cgroup.freeze").read_text() == "0"
    for name in ("cgroup.freeze", "cgroup.events"):
        (tmp_path / "group" / name).unlink()
    freezer.remove()
    assert freezer.freeze(0.01)
    freezer.thaw()
    assert not (tmp_path / "group").exists()


def until_it_grows_once(log: Path) -> None:
    for _ in range(3000):
        if log.exists() and log.stat().st_size:
            return
        time.sleep(0.02)
    raise AssertionError("it never printed anything")


def at_work(box: Sandboxed) -> Stand:
    """Where its one thread is that is at work, which it freezes: on a slow machine that may still
    be within the call by which it said so.
    """
    for _ in range(600):
        assert box.freeze(10.0)
        if box.stands():
            (stand,) = box.stands()
            return stand
        box.thaw()
        time.sleep(0.05)
    raise AssertionError("none was ever at work")


def test_where_threads_are_that_were_at_work_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + AT_WORK) as box:
        until_it_grows_once(log)
        stand = at_work(box)
        code = Code(stand.process)
        region = code.at(stand.code)

        assert stand.process == box.pid
        assert region is not None
        assert region in code.files()
        assert len(code.read(stand.stack, 64)) == 64
        assert code.at(stand.stack) is None
        assert not code.read(1, 8)
        assert not stands(1 << 30)
        assert Code(1 << 30).at(stand.code) is None
        assert list(code.returns(stand.stack, 16384))


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("9090e811223344", True),
        ("9090909090ffd0", True),
        ("90909041ff5308", True),
        ("90ff1511223344", True),
        ("ff942411223344", True),
        ("660f59f1660f58", False),
        ("c4626db8f90f18", False),
        ("", False),
    ],
)
def test_a_call_is_told_from_other_code(code: str, call: bool) -> None:
    assert is_call(bytes.fromhex(code)) is call
