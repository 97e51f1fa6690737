"""Watching a GPU while it is measured: its clock, why it is slow, and who else uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol

from bench.devices.nvml import HELD_BACK, Look
from bench.sandbox.processes import family
from kbsite.model.finding import one_line

SLOW = 0.97
"""Share of the round's usual clock below which a call is not counted."""

SETTLED = 0.985
"""Share of the best clock seen of late from which on the hardware counts as rested."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What was seen when a call began or ended."""

    mhz: float
    """By a kernel that counts cycles."""
    look: Look | None = None
    """What the driver says; None where it says nothing."""


class Looking(Protocol):
    """What tells of a GPU."""

    def look(self) -> Look:
        """What it does now."""
        ...

    def processes(self) -> Sequence[int]:
        """Ids of the processes that use it."""
        ...


class GpuWatch:
    """Moments of a round; a call lies between two of them."""

    def __init__(self, clock: Callable[[], float], told: Looking | None) -> None:
        self._clock = clock
        self._told = told
        self._moments: list[Moment] = []
        self._strangers: dict[int, str] = {}
        self._seen: set[int] = set()
        # In a container the driver may count processes otherwise than we do.
        self._knows_us = told is not None and os.getpid() in told.processes()

    def mark(self) -> int:
        """Look at clock and driver now; the number of this moment."""
        look = self._told.look() if self._told else None
        self._moments.append(Moment(self._clock(), look))
        if self._told and self._knows_us:
            # To find out who started a process takes milliseconds.
            new = [pid for pid in self._told.processes() if pid not in self._seen]
            self._strangers |= strangers(new) if new else {}
            self._seen.update(new)
        return len(self._moments) - 1

    def slowed(self, since: int, until: int) -> bool:
        """Whether a call between two moments is not to be counted."""
        return slowed(self._moments, since, until)

    def intruder(self) -> str | None:
        """Programs of others that were on the GPU, in words."""
        if not self._strangers:
            return None
        return ", ".join(f"process {pid} ({name})" for pid, name in self._strangers.items())

    def facts(self) -> Mapping[str, str]:
        """Range of clocks, power and temperature, and what held the GPU back."""
        return facts(self._moments) | self._unknown()

    def _unknown(self) -> dict[str, str]:
        if self._told is None:
            return {"watched": "its clock alone: the driver's management library is missing"}
        return {} if self._knows_us else {"processes": "the driver does not tell whose they are"}


def slowed(moments: Sequence[Moment], since: int, until: int) -> bool:
    """Whether the clock was low when a call began, or something held the GPU back meanwhile.

    The clock at its end tells nothing: by then the grader has worked. A clock that the power limit
    lowers while a kernel runs is that kernel's own doing.
    """
    usual = median(moment.mhz for moment in moments)
    between = moments[since : until + 1]
    held = any(moment.look and moment.look.reasons & _MASK for moment in between)
    return held or moments[since].mhz < SLOW * usual


def rested(mhz: float, lately: Iterable[float]) -> bool:
    """Whether a clock is as high as the hardware's clock was of late."""
    return mhz >= SETTLED * max(lately, default=mhz)


def facts(moments: Sequence[Moment]) -> dict[str, str]:
    """Range of clocks, power and temperature, and what held the GPU back, in words."""
    if not moments:
        return {}
    looks = [moment.look for moment in moments if moment.look]
    found = {"probe_mhz": _range([moment.mhz for moment in moments])}
    if looks:
        found["sm_mhz"] = _range([look.sm_mhz for look in looks])
        found["watts"] = _range([look.watts for look in looks])
        found["celsius"] = _range([look.celsius for look in looks])
        found["held_back"] = _reasons(looks)
    return found


def strangers(pids: Sequence[int]) -> dict[int, str]:
    """Those of the processes that we did not start, with their names; dead ones are none."""
    ours = set(family(os.getpid()))
    found = {}
    for pid in pids:
        if pid in ours:
            continue
        try:
            name = Path(f"/proc/{pid}/comm").read_text("utf-8", errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # A program calls itself what it likes.
        found[pid] = one_line(name)
    return found


def _reasons(looks: Sequence[Look]) -> str:
    seen = [word for bit, word in HELD_BACK.items() if any(look.reasons & bit for look in looks)]
    return ", ".join(seen) or "by nothing"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}, median {median(values):.0f}"


_MASK = sum(HELD_BACK)
