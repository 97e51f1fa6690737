"""The rules by which calls on a GPU are left out, and others on it noticed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.devices.gpu_watch import (
    SETTLED,
    SLOW,
    GpuWatch,
    Moment,
    facts,
    rested,
    slowed,
    strangers,
)
from bench.devices.nvml import HELD_BACK, Look

POWER_LIMIT = 0x4
IDLE = 0x1


def look(reasons: int = 0, mhz: int = 1980) -> Look:
    return Look(sm_mhz=mhz, reasons=reasons, watts=300.0, celsius=50)


class Gpu:
    """A GPU as a test says it is."""

    def __init__(self, pids: Sequence[int] = (), reasons: int = 0) -> None:
        self.pids = list(pids)
        self.draws: list[int] = []
        self.reasons = reasons

    def look(self) -> Look:
        return look(self.reasons)

    def processes(self) -> Sequence[int]:
        return self.pids

    def drawing(self) -> Sequence[int]:
        return self.draws


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that is no descendant of ours."""
    script = (
        "import subprocess, sys;"
        "p = subprocess.Popen(['sleep', '60'], start_new_session=True, stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL); print(p.pid)"  # else its output is waited for, too
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    # The kernel closes files of who started it a moment before it gives a program its name.
    while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
        time.sleep(0.001)
    yield pid
    os.kill(pid, 9)


def test_the_name_of_another_program_moves_no_cursor(stranger: int) -> None:
    real = Path.read_text

    def read_text(path: Path, *given: str, **named: str) -> str:
        told = f"/proc/{stranger}/comm"
        return "a\x1b[2J\n\n" if str(path) == told else real(path, *given, **named)

    with patch.object(Path, "read_text", read_text):
        assert strangers([stranger]) == {stranger: "a\\x1b[2J"}


@pytest.mark.parametrize("bit", HELD_BACK)
def test_a_call_is_left_out_when_heat_or_the_power_supply_held_the_gpu_back(bit: int) -> None:
    moments = [Moment(1980, look()), Moment(1980, look(bit | POWER_LIMIT))]
    assert slowed(moments, 0, 1)
    assert slowed(list(reversed(moments)), 0, 1)


@pytest.mark.parametrize("reasons", [0, IDLE, POWER_LIMIT])
def test_a_kernel_that_runs_into_the_power_limit_is_counted(reasons: int) -> None:
    assert not slowed([Moment(1980, look(reasons)), Moment(1980, look(reasons))], 0, 1)


def test_a_call_is_left_out_when_its_clock_was_low_at_the_start() -> None:
    moments = [Moment(1980)] * 6 + [Moment(1980 * SLOW - 1), Moment(1980)]
    assert slowed(moments, 6, 7)
    assert not slowed(moments, 0, 1)


def test_a_low_clock_after_the_call_is_the_graders_own_work() -> None:
    assert not slowed([Moment(1980), Moment(1980), Moment(1400)], 1, 2)


def test_what_held_the_gpu_back_before_or_after_a_call_is_no_matter() -> None:
    bad, good = Moment(1980, look(0x8)), Moment(1980, look())
    assert not slowed([bad, good, good, bad], 1, 2)


@given(st.lists(st.floats(1, 5000), min_size=1, max_size=20))
def test_a_steady_or_rising_clock_is_never_slow(clocks: list[float]) -> None:
    rising = sorted(clocks)
    moments = [Moment(mhz) for mhz in rising]
    assert not slowed(moments, len(moments) - 1, len(moments) - 1)


@given(st.lists(st.floats(1, 5000), min_size=1))
def test_the_best_clock_of_late_counts_as_rested(clocks: list[float]) -> None:
    assert rested(max(clocks), clocks)
    assert not rested(max(clocks) * SETTLED * 0.99, clocks)


def test_a_first_clock_counts_as_rested() -> None:
    assert rested(1000, [])


def test_marks_are_numbered_and_remember_the_clock() -> None:
    clocks = iter([1980.0, 1500.0, 1980.0, 1980.0])
    watch = GpuWatch(lambda: next(clocks), None)
    assert [watch.mark() for _ in range(4)] == [0, 1, 2, 3]
    assert watch.slowed(1, 2)
    assert not watch.slowed(2, 3)
    assert watch.facts()["probe_mhz"] == "1500 to 1980, median 1980"


def test_without_the_drivers_library_the_result_says_so() -> None:
    watch = GpuWatch(lambda: 1980.0, None)
    watch.mark()
    assert "missing" in watch.facts()["watched"]
    assert watch.intruder() is None


def test_our_own_processes_are_no_intruders() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        watch = GpuWatch(lambda: 1980.0, Gpu([os.getpid(), child.pid]))
        watch.mark()
        assert watch.intruder() is None
    finally:
        child.kill()
        child.wait()


def test_a_process_of_somebody_else_is_an_intruder_even_when_it_left(stranger: int) -> None:
    gpu = Gpu([os.getpid(), stranger])
    watch = GpuWatch(lambda: 1980.0, gpu)
    watch.mark()
    gpu.pids.remove(stranger)
    watch.mark()
    assert watch.intruder() == f"process {stranger} (sleep)"


def test_each_process_is_traced_once_and_one_that_comes_later_too(stranger: int) -> None:
    gpu = Gpu([os.getpid()])
    watch = GpuWatch(lambda: 1980.0, gpu)
    watch.mark()
    with patch("bench.devices.gpu_watch.strangers", side_effect=strangers) as traced:
        watch.mark()
        gpu.pids.append(stranger)
        watch.mark()
        watch.mark()
    assert [call.args for call in traced.call_args_list] == [([stranger],)]
    assert watch.intruder() == f"process {stranger} (sleep)"


def test_who_draws_on_the_gpu_is_told_even_when_it_left_and_is_no_intruder(stranger: int) -> None:
    gpu = Gpu([os.getpid()])
    watch = GpuWatch(lambda: 1980.0, gpu)
    watch.mark()
    assert "drawing" not in watch.facts()
    gpu.draws = [os.getpid(), stranger]
    watch.mark()
    gpu.draws = []
    watch.mark()
    assert watch.facts()["drawing"] == f"process {stranger} (sleep)"
    assert watch.intruder() is None


def test_who_draws_and_computes_is_an_intruder(stranger: int) -> None:
    gpu = Gpu([os.getpid(), stranger])
    gpu.draws = [stranger]
    watch = GpuWatch(lambda: 1980.0, gpu)
    watch.mark()
    assert watch.intruder() == f"process {stranger} (sleep)"
    assert watch.facts()["drawing"] == f"process {stranger} (sleep)"


def test_where_the_driver_counts_processes_otherwise_nobody_is_accused(stranger: int) -> None:
    watch = GpuWatch(lambda: 1980.0, Gpu([stranger]))
    watch.mark()
    assert watch.intruder() is None
    assert "does not tell" in watch.facts()["processes"]


def test_a_process_that_is_gone_is_no_stranger(stranger: int) -> None:
    assert strangers([stranger, 2**22 + 1]) == {stranger: "sleep"}


def test_facts_name_ranges_and_what_held_the_gpu_back() -> None:
    told = facts([Moment(1970, look()), Moment(1980, look(0x40, mhz=1200))])
    assert told["sm_mhz"] == "1200 to 1980, median 1590"
    assert told["held_back"] == HELD_BACK[0x40]
    assert facts([Moment(1980, look())])["held_back"] == "by nothing"
    assert facts([]) == {}
