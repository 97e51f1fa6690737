"""A GPU's counters as bytes and shares, while a piece of work is done again and again."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol, Self

from bench.devices.device import Counted
from bench.devices.nvml import Shares

LEAD_SECONDS = 0.4
"""Counters lag behind by about a tenth of a second; by then they show nothing but the work."""

COUNTED_SECONDS = 0.6


class Counters(Protocol):
    """What tells how busy parts of a GPU were."""

    def sample(self) -> Any:
        """The counters as they stand."""
        ...

    def between(self, first: Any, second: Any) -> Shares:
        """What was counted between two samples."""
        ...


class Counting:
    """Counters, and how many bytes a second their full share of DRAM stands for."""

    def __init__(self, counters: Counters, bytes_per_second: float) -> None:
        self._counters = counters
        self.bytes_per_second = bytes_per_second

    @classmethod
    def calibrated(cls, counters: Counters, copy: Callable[[], None], moved: int) -> Self | None:
        """By work that is known to move so many bytes each time; None where nothing shows it."""
        seconds, shares = _watched(counters, copy)
        return cls(counters, moved / seconds / shares.dram) if shares.dram > 0 else None

    def count(self, work: Callable[[], None], calls: int) -> Counted:
        """What is counted for each of the calls that the work is made of."""
        taken, shares = _watched(self._counters, work)
        seconds = taken / calls
        return Counted(
            seconds=seconds,
            dram_bytes=shares.dram * self.bytes_per_second * seconds,
            tensor=shares.tensor,
        )


def _watched(counters: Counters, work: Callable[[], None]) -> tuple[float, Shares]:
    """Seconds that the work takes each time, and how busy it keeps what is counted."""
    ends = perf_counter() + LEAD_SECONDS
    while perf_counter() < ends:
        work()
    first, started, times = counters.sample(), perf_counter(), 0
    while perf_counter() < started + COUNTED_SECONDS:
        work()
        times += 1
    taken = perf_counter() - started
    return taken / times, counters.between(first, counters.sample())
