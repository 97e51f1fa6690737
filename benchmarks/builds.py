"""What a program costs that makes pages of a transcript: time, memory, output."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import mkdtemp


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
    """Bytes of the pages of the run itself: those beside its first one and below."""

    @property
    def wall(self) -> float:
        """Seconds of the fastest build."""
        return min(self.walls)

    @property
    def usual(self) -> float:
        """Seconds of the median build."""
        return median(self.walls)

    def part_of(self, other: Cost) -> float:
        """Its time as a part of another's, in the median of the rounds that both built in."""
        return median(own / its for own, its in zip(self.walls, other.walls, strict=False))


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took, and those that it started and waited for."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of processor time."""
    peak: int
    """Bytes that the largest of them held at most."""
    told: str
    """What it wrote to stderr."""


def costs(programs: Sequence[Program], out: Path, times: int) -> list[Cost]:
    """What programs cost that build in turns, so many rounds of them.

    A machine is slower at some times than at others, and so it is for all of them. The output of
    the last round stays in the folders below `out` that are called like the programs.
    """
    held: dict[str, list[Spent]] = {program.name: [] for program in programs}
    for _ in range(times):
        for program in programs:
            own = out / program.name
            put_aside(own)
            own.mkdir(parents=True)
            held[program.name].append(spent(program.command(own)))
    return [_cost(program, out / program.name, held[program.name]) for program in programs]


def _cost(program: Program, out: Path, held: Sequence[Spent]) -> Cost:
    first = program.page(out)
    own = (first.parent if first else out).rglob("*.html")
    html = sum(path.stat().st_size for path in own)
    walls = tuple(one.wall for one in held)
    processor, peak = min(one.processor for one in held), min(one.peak for one in held)
    return Cost(program.name, walls, processor, peak, html)


def put_aside(*paths: Path) -> None:
    """Move what was built, where it is there, into a folder beside it that is nobody's.

    A file system may search for long past what was deleted a moment ago before it makes a file
    (ext4 passes over such inodes one by one), and the next build would be measured with that.
    """
    for path in paths:
        if path.exists():
            path.rename(Path(mkdtemp(prefix=BEFORE, dir=path.parent)) / path.name)


BEFORE = ".before-"
"""How the names of folders begin that hold what was put aside."""

_NOT_KEPT = "PYTHONDONTWRITEBYTECODE"


def spent(command: Sequence[str], started: Callable[[int], object] = lambda _: None) -> Spent:
    """What a command takes, whose process `started` is told; CalledProcessError where it fails."""
    # What is installed is compiled once, and not by each process.
    held = {name: value for name, value in os.environ.items() if name != _NOT_KEPT}
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - the commands are ours
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=held
    ) as process:
        started(process.pid)
        told = process.stderr.read().decode() if process.stderr else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=told)
    return Spent(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, told)
