"""What a grader needs of the hardware that it grades on: the trusted side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far clocks may be apart before that is held against a solution."""

    relative: float
    """As a share of the slowest clock."""
    absolute_ms: float
    """The larger of the two counts."""
    late_ms: float = 0.0
    """By how much the grader's clock may be late for a single call more than for an empty one: the
    median over a round's calls was seen 50 microseconds late on a GPU in a virtual machine."""
    every: bool = False
    """Whether a clock has to show more in every call, and not in the median one: where other
    programs may run at any time, they make some calls take longer, and never one quicker."""
    warmer: float = 0.25
    """Share by which a call in a batch may take longer than a single one: GPUs at their power limit
    were seen 5 to 15 % slower back to back."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What hardware counted while calls were made again and again, for each call."""

    seconds: float
    dram_bytes: float
    """Read from and written to DRAM."""
    tensor: float
    """Share of the cycles in which tensor cores were active, 0 to 1."""


class Arena(Protocol):
    """Memory that the grader owns and lends to a worker."""

    @property
    def bytes(self) -> torch.Tensor:
        """All of it, as uint8, on the trusted side."""
        ...

    @property
    def handle(self) -> Mapping[str, Any]:
        """What a worker opens it by; JSON."""
        ...

    @property
    def fds(self) -> tuple[int, ...]:
        """File descriptors that the worker has to inherit."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


class Watch(Protocol):
    """What the hardware did while a round was measured."""

    def mark(self) -> int:
        """A number for this moment, to ask about later."""
        ...

    def slowed(self, since: int, until: int) -> bool:
        """Whether the hardware ran below its speed between two marks."""
        ...

    def intruder(self) -> str | None:
        """What else used the hardware meanwhile, in words; None if nothing did."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Clocks, power and temperature, in words for a result."""
        ...


class Device(Protocol):
    """A kind of hardware: memory, caches, clocks."""

    @property
    def name(self) -> str:
        """Such as "cpu" or "cuda"."""
        ...

    @property
    def line_bytes(self) -> int:
        """Size of a line of its caches."""
        ...

    @property
    def probes(self) -> int:
        """Bytes of the outputs of a move that are looked at when it is reported done."""
        ...

    @property
    def arena_bytes(self) -> int:
        """The most that an arena may take."""
        ...

    @property
    def most_slots(self) -> int:
        """Calls whose inputs lie in an arena at a time, at most; no batch has more."""
        ...

    @property
    def cache_bytes(self) -> int:
        """Size of its largest cache."""
        ...

    @property
    def batch_ms(self) -> float | None:
        """How long a batch should take at most; None if its length changes nothing.

        A GPU at its power limit gets slower while a long batch runs.
        """
        ...

    @property
    def agreement(self) -> Agreement:
        """How far its clocks may be apart."""
        ...

    def available(self) -> str | None:
        """None if it can be used here, else the reason in a sentence."""
        ...

    def arena(self, size: int) -> Arena:
        """Memory to share, filled with zeros; MachineError if there is not enough."""
        ...

    def flush(self) -> None:
        """Return when nothing that was read or written before is in a cache any more."""
        ...

    def synchronize(self) -> None:
        """Return when all that the trusted side queued is done."""
        ...

    def busy(self) -> str | None:
        """None if the hardware does nothing, else what shows that it does, in a clause."""
        ...

    def settle(self) -> None:
        """Bring the hardware into the state that every round starts in."""
        ...

    def watch(self) -> AbstractContextManager[Watch]:
        """Watch the hardware until the context ends."""
        ...

    def count(self, work: Callable[[], None], calls: int) -> Counted | None:
        """What counters show of `work`, done again and again, for each of the `calls` in it.

        None where there are none.
        """
        ...

    def told(self) -> Mapping[str, Any]:
        """What a worker has to know.

        `device`, `threads`, whether it is to `spin` while it waits for a command, and for a GPU the
        `gate_cycles` that hide launches and the `hold_cycles` that keep it busy for a while.
        """
        ...

    def nodes(self) -> tuple[Path, ...]:
        """Device files that a worker needs."""
        ...

    def readable(self) -> tuple[Path, ...]:
        """Folders of drivers and tools that a worker reads, beside Python's own."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Variables that a worker needs."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What it is, for the result."""
        ...
