"""Control groups: limits that the kernel keeps for all processes of a box together.

Where none can be had, memory is watched instead (held.py), processes are counted by user (plan.py),
and devices are kept by there being no other nodes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.sandbox.box import Limits
from bench.sandbox.device_program import open_devices_only
from bench.sandbox.enter import NODES
from bench.sandbox.freezer import Freezer
from bench.sandbox.furnish import TERMINALS
from bench.sandbox.group_places import NAME, places, remove_patiently

# What makes a terminal, and the terminals of one instance.
_TERMINALS = ((5, 2), *((136, number) for number in range(TERMINALS)))
_OURS = 2  # starter and init are counted among the processes
KEPT_BY_KERNEL = "control group"


@dataclass(frozen=True)
class Group:
    """The control groups of a box, by what they limit; those that could not be had are missing."""

    folders: dict[str, Path]
    freezer: Freezer | None = None

    def __contains__(self, controller: str) -> bool:
        """Whether memory, pids or devices are limited by the kernel."""
        return controller in self.folders

    def add(self, *processes: int) -> None:
        """Put processes in; what they start from now on is in as well."""
        for folder in dict.fromkeys(self.folders.values()):
            for process in processes:
                (folder / "cgroup.procs").write_text(str(process))

    def over(self) -> bool:
        """Whether the kernel had to kill for want of memory."""
        folder = self.folders.get("memory")
        if folder is None:
            return False
        told = folder / "memory.oom_control"
        lines = (told if told.exists() else folder / "memory.events").read_text().splitlines()
        return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)

    def add_command(self, process: int) -> None:
        """Put the command in, and where it can be frozen."""
        self.add(process)
        if self.freezer:
            self.freezer.add(process)

    def remove(self) -> None:
        """Remove it, now that it is empty, or will be when its last process was waited for."""
        if self.freezer:
            self.freezer.remove()
        for folder in dict.fromkeys(self.folders.values()):
            remove_patiently(folder)


def make_group(
    limits: Limits, devices: Iterable[Path], slot: int, *, terminals: bool = False
) -> Group:
    """The control groups of a box that only these devices are open to; `slot` tells boxes apart.

    `terminals` opens those of its own to it.
    """
    name = f"{NAME}{os.getpid()}-{slot}"
    wanted = places()
    folders = {limit: above / name for limit, above in wanted.items() if limit != "freezer"}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    freezer = None
    if above := wanted.get("freezer"):
        # In version 2 a process is in one group, so that this one lies within the other.
        shared = above / name in folders.values()
        freezer = Freezer(above / name / "command" if shared else above / name)
    group = Group(folders, freezer)
    if (memory := folders.get("memory")) and limits.memory_bytes:
        _limit_memory(memory, limits.memory_bytes)
    if pids := folders.get("pids"):
        (pids / "pids.max").write_text(str(limits.processes + _OURS))
    if open_to := folders.get("devices"):
        more = _TERMINALS if terminals else ()
        _limit_devices(open_to, (*(Path("/dev", name) for name in NODES), *devices), more)
    return group


def _limit_memory(folder: Path, most: int) -> None:
    limits = {
        "memory.limit_in_bytes": most,
        "memory.memsw.limit_in_bytes": most,
        # Where what is swapped out is not counted, a group that swaps nothing keeps its limit too.
        "memory.swappiness": 0,
        "memory.max": most,
        "memory.swap.max": 0,
        "memory.oom.group": 1,
    }
    for name, value in limits.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value))


def _limit_devices(folder: Path, devices: Iterable[Path], more: Iterable[tuple[int, int]]) -> None:
    numbers = list(dict.fromkeys((*_numbers(devices), *more)))
    if not (folder / "devices.deny").exists():
        open_devices_only(folder, numbers)
        return
    (folder / "devices.deny").write_text("a")
    for major, minor in numbers:
        (folder / "devices.allow").write_text(f"c {major}:{minor} rw")


def _numbers(devices: Iterable[Path]) -> Iterator[tuple[int, int]]:
    """The numbers of devices, and of those in folders of devices."""
    for path in devices:
        if path.is_dir():
            yield from _numbers(sorted(path.iterdir()))
        elif stat.S_ISCHR((found := path.stat()).st_mode):
            yield os.major(found.st_rdev), os.minor(found.st_rdev)
