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
        """Ids of the processes that compute on it."""
        ...

    def drawing(self) -> Sequence[int]:
        """Ids of the processes that draw on it."""
        ...


class _Others:
    """Programs of others that were seen, those that left among them; each is traced once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._named: dict[int, str] = {}

    def see(self, pids: Sequence[int]) -> None:
        """Note who is there now."""
        # To find out who started a process takes milliseconds.
        if new := [pid for pid in pids if pid not in self._seen]:
            self._named |= strangers(new)
            self._seen.update(new)

    def __str__(self) -> str:
        return in_words(self._named)


class GpuWatch:
    """Moments of a round; a call lies between two of them."""

    def __init__(self, clock: Callable[[], float], told: Looking | None) -> None:
        self._clock = clock
        self._told = told
        self._moments: list[Moment] = []
        self._computing, self._drawing = _Others(), _Others()
        # In a container the driver may count processes otherwise than we do.
        self._knows_us = told is not None and os.getpid() in told.processes()

    def mark(self) -> int:
        """Look at clock and driver now; the number of this moment."""
        look = self._told.look() if self._told else None
        self._moments.append(Moment(self._clock(), look))
        if self._told and self._knows_us:
            self._computing.see(self._told.processes())
            self._drawing.see(self._told.drawing())
        return len(self._moments) - 1

    def slowed(self, since: int, until: int) -> bool:
        """Whether a call between two moments is not to be counted."""
        return slowed(self._moments, since, until)

    def intruder(self) -> str | None:
        """Programs of others that computed on the GPU, in words."""
        return str(self._computing) or None

    def facts(self) -> Mapping[str, str]:
        """Range of clocks, power and temperature, what held the GPU back, and who drew on it.

        A screen's server is no intruder: there is one on many machines, and what it takes makes
        times longer, never shorter.
        """
        drew = str(self._drawing)
        return facts(self._moments) | ({"drawing": drew} if drew else {}) | self._unknown()

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


def in_words(named: Mapping[int, str]) -> str:
    """Processes by their ids, with their names; empty where there are none."""
    return ", ".join(f"process {pid} ({name})" for pid, name in named.items())


def _reasons(looks: Sequence[Look]) -> str:
    seen = [word for bit, word in HELD_BACK.items() if any(look.reasons & bit for look in looks)]
    return ", ".join(seen) or "by nothing"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}, median {median(values):.0f}"


_MASK = sum(HELD_BACK)
