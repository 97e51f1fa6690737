"""Control groups: limits that the kernel keeps for all processes of a box together.

Both versions are tried, below the group that this process is in; where none can be had, memory is
watched instead (held.py) and processes are counted by user (plan.py). Devices only in version 1:
version 2 takes a program for the kernel there.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bench.sandbox.box import Limits
from bench.sandbox.enter import NODES

_NAME = "kbsite-box-"
_GROUPS = Path("/sys/fs/cgroup")
_TO_EMPTY_S = 5.0
_OURS = 2  # starter and init are counted among the processes
KEPT_BY_KERNEL = "control group"


@dataclass(frozen=True)
class Group:
    """The control groups of a box, by what they limit; those that could not be had are missing."""

    folders: dict[str, Path]

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

    def remove(self) -> None:
        """Remove it, now that it is empty, or will be when its last process was waited for."""
        until = time.monotonic() + _TO_EMPTY_S
        for folder in dict.fromkeys(self.folders.values()):
            while not _removed(folder, last_try=time.monotonic() > until):
                time.sleep(0.01)


def _removed(folder: Path, *, last_try: bool) -> bool:
    """Whether a group could be removed; raises OSError if it is still in use at the last try."""
    try:
        folder.rmdir()
    except OSError as error:
        if last_try or error.errno != errno.EBUSY:
            raise
        return False
    return True


def make_group(limits: Limits, devices: Iterable[Path], slot: int) -> Group:
    """The control groups of a box that only these devices are open to; `slot` tells boxes apart."""
    places = _places()
    folders: dict[str, Path] = {}
    for controller, above in places.items():
        folder = above / f"{_NAME}{os.getpid()}-{slot}"
        folder.mkdir(exist_ok=True)
        folders[controller] = folder
    group = Group(folders)
    if (memory := folders.get("memory")) and limits.memory_bytes:
        _limit_memory(memory, limits.memory_bytes)
    if pids := folders.get("pids"):
        (pids / "pids.max").write_text(str(limits.processes + _OURS))
    if open_to := folders.get("devices"):
        (open_to / "devices.deny").write_text("a")
        for number in _numbers((*(Path("/dev", name) for name in NODES), *devices)):
            (open_to / "devices.allow").write_text(f"c {number} rw")
    return group


def _limit_memory(folder: Path, most: int) -> None:
    limits = {
        "memory.limit_in_bytes": most,
        "memory.memsw.limit_in_bytes": most,
        "memory.max": most,
        "memory.swap.max": 0,
        "memory.oom.group": 1,
    }
    for name, value in limits.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value))


def _numbers(devices: Iterable[Path]) -> Iterator[str]:
    """The numbers of devices, and of those in folders of devices."""
    for path in devices:
        if path.is_dir():
            yield from _numbers(sorted(path.iterdir()))
        elif stat.S_ISCHR((found := path.stat()).st_mode):
            yield f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"


@lru_cache(maxsize=1)
def _places() -> dict[str, Path]:
    """Below which groups ours can be made, by what they limit; found by making one."""
    found: dict[str, Path] = {}
    for controller, above in _own_groups():
        trial = above / f"{_NAME}{os.getpid()}-trial"
        try:
            _remove_old(above)
            trial.mkdir(exist_ok=True)
        except OSError:
            # Not ours to write: the limits are kept in another way, and the facts say so.
            continue
        names = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max",)}
        known = any((trial / name).exists() for name in names.get(controller, ("devices.deny",)))
        if known and _can_be_entered(trial):
            found.setdefault(controller, above)
        trial.rmdir()
    return found


def _can_be_entered(folder: Path) -> bool:
    """Whether a process of ours can be put there: that takes rights to where it is now, too."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        try:
            (folder / "cgroup.procs").write_text(str(process.pid))
        except OSError:
            return False
    return True


def _own_groups() -> Iterator[tuple[str, Path]]:
    """Controllers, and the groups of this process in which they may be at work."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in ("memory", "pids", "devices"):
            if controller in controllers.split(","):
                yield controller, _GROUPS / controllers / path.lstrip("/")
            elif not controllers:
                # Groups that hold processes give no controllers on: those above may.
                for above in (path, *(str(one) for one in Path(path).parents)):
                    yield controller, _GROUPS / above.lstrip("/")


def _remove_old(above: Path) -> None:
    """Remove the empty groups of processes that were killed before they could."""
    for folder in above.glob(f"{_NAME}*"):
        owner = folder.name.removeprefix(_NAME).split("-")[0]
        if not Path("/proc", owner).exists():
            folder.rmdir()
