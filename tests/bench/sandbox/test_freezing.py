"""A frozen box does nothing at all, and goes on where it was."""

from __future__ import annotations

import time
from pathlib import Path

from bench.sandbox.box import Sandbox
from bench.sandbox.processes import family, stopped
from tests.bench.sandbox.boxes import LIMITS, WALLED_IN, sandbox, started

__all__ = ["sandbox"]

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


def until_it_grows(log: Path) -> None:
    for _ in range(300):
        if grown(log, 0.02):
            return
    raise AssertionError("it never printed anything")


def test_threads_children_and_daemons_stand_still_until_they_are_let_go(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + COUNTING, limits=LIMITS) as box:
        until_it_grows(log)
        assert box.freeze(10.0)
        assert all(stopped(one) for one in family(box.pid))
        time.sleep(0.2)  # what was printed before is on its way
        assert grown(log, 0.3) == 0
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
print("x", flush=True)
while True:
    # Put off as long as this runs.
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 100_000_000), None)
    time.sleep(0.005)
"""


def test_who_has_a_timer_to_go_on_by_did_not_stand_still(sandbox: Sandbox, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(sandbox, log, WALLED_IN + WOKEN) as box:
        until_it_grows_once(log)
        assert box.freeze(10.0)
        time.sleep(0.5)

        assert not box.stood_still()


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
    sandbox: Sandbox, tmp_path: Path
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
            assert all(stopped(one) for one in family(box.pid))


def until_it_grows_once(log: Path) -> None:
    for _ in range(500):
        if log.exists() and log.stat().st_size:
            return
        time.sleep(0.02)
    raise AssertionError("it never printed anything")
