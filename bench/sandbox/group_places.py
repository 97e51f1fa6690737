"""Where on this machine control groups can be made, found out by making one."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from bench.sandbox.device_program import open_devices_only

NAME = "kbsite-box-"
_GROUPS = Path("/sys/fs/cgroup")
# What is limited, and the file that only groups have that can limit it.
_VERSION_1 = {"memory": "memory.limit_in_bytes", "pids": "pids.max", "devices": "devices.deny"}
_VERSION_2 = {"memory": "memory.max", "pids": "pids.max", "freezer": "cgroup.freeze"}
_TO_EMPTY_S = 5.0
# Any of these keeps what does not fit into a group's memory from being swapped out of its limit.
_NO_SWAP = ("memory.memsw.limit_in_bytes", "memory.swappiness", "memory.swap.max")
_SWAPS = Path("/proc/swaps")
"""Is there where the kernel can swap at all."""


@lru_cache(maxsize=1)
def places() -> Mapping[str, Path]:
    """Below which groups ours can be made, by what they limit: memory, pids, devices, freezer.

    Version 1 has a tree for each of them; in version 2 there is one, and a process is in one group
    of it, so that all that is still missing has to be had in one place.
    """
    found: dict[str, Path] = {}
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in lines:
        for controller in set(controllers.split(",")) & set(_VERSION_1):
            found |= _first(_upwards(_GROUPS / controllers, path), _VERSION_1, {controller})
    # What version 1 freezes cannot be killed.
    missing = {*_VERSION_1, "freezer"} - set(found)
    for _, controllers, path in lines:
        if missing and not controllers:
            mixed = not (_GROUPS / "cgroup.controllers").exists()
            root = _GROUPS / "unified" if mixed else _GROUPS
            found |= _first(_upwards(root, path), _VERSION_2, missing)
    return found


def _first(
    groups: Iterable[Path], marks: Mapping[str, str], wanted: set[str]
) -> Mapping[str, Path]:
    """What can be had in the first group that offers most of it, by what is limited."""
    best: dict[str, Path] = {}
    for above in groups:
        offered = dict.fromkeys(_offered(above, marks) & wanted, above)
        best = offered if len(offered) > len(best) else best
        if len(best) == len(wanted):
            break
    return best


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """The group of that path and those above it: groups that hold processes offer little."""
    for one in (Path(path), *Path(path).parents):
        yield root / str(one).lstrip("/")


def _offered(above: Path, marks: Mapping[str, str]) -> set[str]:
    """What a group below this one can limit; nothing where none can be made, or none be entered."""
    trial = above / f"{NAME}{os.getpid()}-trial-{threading.get_ident()}"
    try:
        _remove_old(above)
        trial.mkdir(exist_ok=True)
    except OSError:
        # Not ours to write: the limits are kept in another way, and the facts say so.
        return set()
    try:
        offered = {name for name, mark in marks.items() if (trial / mark).exists()}
        if _SWAPS.exists() and not any((trial / name).exists() for name in _NO_SWAP):
            offered.discard("memory")
        if "devices" not in marks and _takes_programs(trial):
            offered.add("devices")
        return offered if offered and _can_be_entered(trial) else set()
    finally:
        trial.rmdir()


def _takes_programs(group: Path) -> bool:
    """Whether a program can decide there which devices are opened."""
    try:
        open_devices_only(group, [(1, 3)])
    except OSError:
        return False
    return True


def _can_be_entered(group: Path) -> bool:
    """Whether a process of ours can be put there: that takes rights to where it is now, too."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        try:
            (group / "cgroup.procs").write_text(str(process.pid))
        except OSError:
            return False
    return True


def remove_patiently(group: Path) -> None:
    """Remove a group whose processes ended, some of them perhaps not yet waited for.

    Raises OSError if it is in use for longer than that takes.
    """
    until = time.monotonic() + _TO_EMPTY_S
    while True:
        try:
            return group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _remove_old(above: Path) -> None:
    """Remove the empty groups of processes that were killed before they could."""
    for group in above.glob(f"{NAME}*"):
        owner = group.name.removeprefix(NAME).split("-")[0]
        if not Path("/proc", owner).exists():
            try:
                for inner in group.glob("command"):
                    inner.rmdir()
                group.rmdir()
            except OSError:
                # Somebody else was faster, or it is in use where we do not see its owner.
                continue
