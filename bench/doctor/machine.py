"""The machine: system, processors, memory, and room for what sessions write."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.devices.cpu import processor
from bench.doctor.form import GIB, Here, Seen, State, gib
from bench.running.form import SessionLimits
from bench.running.hosts import system

_OF_GROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""In version 2 and in version 1: the limit, what is used, and what of that could be spared."""

LEAST_MEMORY = GIB
LEAST_DISK = GIB
GOOD_DISK = 20 * GIB
"""Some hundred runs, most of which take less than 100 MB."""


@dataclass(frozen=True)
class System:
    """The operating system, and who we are on it."""

    name: str = "system"

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """The distribution and the kernel; nothing but Linux holds a session."""
        linux = platform.system() == "Linux"
        user = "root" if os.getuid() == 0 else f"user {os.getuid()}"
        yield Seen(
            name=self.name, state=State.YES if linux else State.NO, needed=True,
            seen=f"{system()}, {platform.machine()}; this is {user}",
            cure="" if linux else "make runs on Linux: sessions are held by its namespaces",
        )  # fmt: skip


@dataclass(frozen=True)
class Processors:
    """Processors that this process may use, and whether others use them."""

    name: str = "processors"

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """How many there are, and how much they have to do."""
        count, load = len(os.sched_getaffinity(0)), os.getloadavg()[1]
        busy = load > count
        yield Seen(
            name=self.name, state=State.PARTLY if busy else State.YES,
            seen=f"{count} of {processor()}; in the last 5 minutes {load:.1f} were in use",
            cure="wait, or end what else runs here: sessions are measured by the clock"
            if busy else "",
        )  # fmt: skip


@dataclass(frozen=True)
class Memory:
    """Memory that is free here, whether the machine or a control group limits it."""

    name: str = "memory"
    meminfo: Path = Path("/proc/meminfo")
    own_groups: Path = Path("/proc/self/cgroup")
    groups: Path = Path("/sys/fs/cgroup")

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """Memory for sessions, whose folders lie in memory, too."""
        said = dict(_amounts(self.meminfo))
        total, free = said["MemTotal"], said["MemAvailable"]
        seen = f"{gib(free)} free of {gib(total)}"
        groups = [one for one in groups_of_memory(self.own_groups, self.groups) if one[0] < total]
        if groups:
            most, left = min(groups, key=lambda one: one[1])
            free = min(free, left)
            seen += f"; a control group allows {gib(most)}, of which {gib(left)} are free"
        yield Seen(
            name=self.name, state=_enough(free, LEAST_MEMORY, most_of_a_session()), needed=True,
            seen=f"{seen}; a session may use {gib(most_of_a_session())}",
            cure="" if free >= most_of_a_session()
            else "end what uses it, or give sessions smaller `limits`: they lie in memory",
        )  # fmt: skip
        yield _in_memory(free)


def most_of_a_session() -> int:
    """The most memory that one session may use, in bytes."""
    return SessionLimits().memory_bytes or GIB


def _in_memory(free: int) -> Seen:
    limits = SessionLimits()
    one = limits.workspace_bytes + limits.home_bytes + limits.scratch_bytes
    count = free // one
    return Seen(
        name="folders of sessions", state=State.YES if count else State.PARTLY,
        seen=f"each session may write {gib(one)} into memory (tmpfs); "
        f"at worst there is room for {count} side by side",
        cure="" if count else "give sessions smaller limits (`limits` of a sweep)",
    )  # fmt: skip


def _enough(found: int, least: int, good: int) -> State:
    if found < least:
        return State.NO
    return State.YES if found >= good else State.PARTLY


def _amounts(path: Path) -> Iterator[tuple[str, int]]:
    """Names and bytes of a file like /proc/meminfo."""
    for line in path.read_text().splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            yield name, int(words[0]) * 1024


def groups_of_memory(own: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """What control groups of this process allow, and what of it is free, in bytes.

    Of version 1 and of version 2. What was read from files and not used of late is free: it goes
    when somebody needs its place.
    """
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = groups / "memory" if controllers else groups
        for above in (Path(path), *Path(path).parents):
            folder = root / str(above).lstrip("/")
            for most, used, spare in _OF_GROUPS:
                if (limit := _number(folder / most)) is not None:
                    told = dict(line.partition(" ")[::2] for line in _lines(folder / "memory.stat"))
                    kept = int(told[spare]) if told.get(spare, "").isdecimal() else 0
                    left = limit - (_number(folder / used) or 0) + kept
                    yield limit, min(max(0, left), limit)


def _number(path: Path) -> int | None:
    """The number in a file of a control group; None where there is none, or no such file."""
    said = "".join(_lines(path))
    return int(said) if said.isdecimal() else None


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() else []


@dataclass(frozen=True)
class Disk:
    """Room for runs."""

    name: str = "disk for runs"

    def look(self, here: Here) -> Iterator[Seen]:
        """How much is free where runs are written, and whether we may write there."""
        place = next(one for one in (here.runs, *here.runs.absolute().parents) if one.exists())
        free = shutil.disk_usage(place).free
        if not place.is_dir():
            yield Seen(
                name=self.name, state=State.NO, needed=True, seen=f"{place} is no folder",
                cure="name a folder with --runs, or a place for one",
            )  # fmt: skip
            return
        if not os.access(place, os.W_OK | os.X_OK):
            yield Seen(
                name=self.name, state=State.NO, needed=True,
                seen=f"{place} cannot be written by this user",
                cure="name another folder with --runs, or have that one made yours",
            )  # fmt: skip
            return
        yield Seen(
            name=self.name, state=_enough(free, LEAST_DISK, GOOD_DISK), needed=True,
            seen=f"{gib(free)} free at {place}",
            cure="" if free >= GOOD_DISK else "make room, or name another disk with --runs",
        )  # fmt: skip
