"""What a program costs that makes pages of a transcript: time, memory, output."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Program:
    """A program that makes pages."""

    name: str
    command: Callable[[Path], Sequence[str]]
    """The command line that makes them in a folder."""
    page: Callable[[Path], Path | None]
    """The page that a reader opens first; None where it is not there."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the builds of one program cost."""

    name: str
    walls: tuple[float, ...]
    """Seconds of each build."""
    processor: float
    """Seconds of processor time of the cheapest build."""
    peak: int
    """Bytes of memory of the leanest build."""
    html: int
    """Bytes of the pages that it made."""

    @property
    def wall(self) -> float:
        """Seconds of the fastest build."""
        return min(self.walls)

    @property
    def usual(self) -> float:
        """Seconds of the median build."""
        return median(self.walls)


def cost(program: Program, out: Path, times: int) -> Cost:
    """What `program` costs, built `times` over; the output of the last build stays in `out`."""
    walls, processors, peaks = [], [], []
    for _ in range(times):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        wall, processor, peak = _once(program.command(out))
        walls.append(wall)
        processors.append(processor)
        peaks.append(peak)
    html = sum(path.stat().st_size for path in out.rglob("*.html"))
    return Cost(program.name, tuple(walls), min(processors), min(peaks), html)


def _once(command: Sequence[str]) -> tuple[float, float, int]:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:  # noqa: S603 - the commands are ours
        told = process.stderr.read() if process.stderr else b""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=told)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
