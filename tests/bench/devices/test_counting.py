"""Counters of a whole device, held against a copy whose bytes are known."""

from __future__ import annotations

from time import sleep
from typing import Any

import pytest

from bench.devices import counting
from bench.devices.counting import Counting
from bench.devices.nvml import Shares


class Played:
    """Counters that show the same whatever is done."""

    def __init__(self, *shown: Shares) -> None:
        self.shown = list(shown)
        self.samples = 0

    def sample(self) -> Any:
        self.samples += 1
        return self.samples

    def between(self, first: Any, second: Any) -> Shares:
        assert second == first + 1
        return self.shown.pop(0)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "LEAD_SECONDS", 0.01)
    monkeypatch.setattr(counting, "COUNTED_SECONDS", 0.05)


def test_a_work_that_keeps_the_memory_as_busy_as_a_copy_moves_as_many_bytes() -> None:
    counters = Played(Shares(dram=0.8, tensor=0.0), Shares(dram=0.8, tensor=0.5))
    made = Counting.calibrated(counters, lambda: sleep(0.002), moved=1000)
    assert made is not None
    found = made.count(lambda: sleep(0.004), calls=2)
    assert found.seconds >= 0.002
    assert found.dram_bytes / found.seconds == pytest.approx(0.8 * made.bytes_per_second)
    assert made.bytes_per_second < 1000 / 0.002 / 0.8
    assert found.tensor == 0.5


@pytest.mark.parametrize("shown", [0.0, float("nan")])
def test_counters_that_show_nothing_of_a_copy_are_none(shown: float) -> None:
    counters = Played(Shares(dram=shown, tensor=0.0))
    assert Counting.calibrated(counters, lambda: sleep(0.002), moved=1000) is None


class Clock:
    """A clock that goes on while something is done, and by what that takes."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += 0.002


def test_half_the_share_is_half_the_bytes_and_each_call_has_its_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(counting, "perf_counter", clock)
    counters = Played(Shares(0.4, 0.0), Shares(0.4, 0.0))
    made = Counting(counters, bytes_per_second=1e9)
    one, four = made.count(clock.work, 1), made.count(clock.work, 4)
    assert one.seconds == pytest.approx(0.002)
    assert one.dram_bytes == pytest.approx(0.4e9 * one.seconds)
    assert four.dram_bytes == pytest.approx(0.4e9 * four.seconds)
    assert four.seconds == pytest.approx(one.seconds / 4)


def test_counting_begins_when_the_work_has_gone_on_for_a_while() -> None:
    done: list[int] = []
    at: list[int] = []

    class Late(Played):
        def sample(self) -> Any:
            at.append(len(done))
            return super().sample()

    def work() -> None:
        sleep(0.001)
        done.append(1)

    Counting(Late(Shares(0.1, 0.0)), 1.0).count(work, 1)
    assert 0 < at[0] < at[1] == len(done)
