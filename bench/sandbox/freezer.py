"""Letting all processes of a box stand still at once, as a control group of version 2 can."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from bench.sandbox.group_places import remove_patiently

_QUICK_LOOKS = 100
_PAUSE_S = 5e-5


class Freezer:
    """A group for the command and all that it starts, but not for init, which ends the box.

    What is frozen runs nothing of its own, whatever signals or timers it is sent; it can be killed.
    """

    def __init__(self, group: Path) -> None:
        self._group = group
        group.mkdir(parents=True, exist_ok=True)
        self._switch = os.open(group / "cgroup.freeze", os.O_WRONLY)
        self._told = os.open(group / "cgroup.events", os.O_RDONLY)
        self._open = True
        self._lock = threading.Lock()

    def add(self, process: int) -> None:
        """Put a process in; what it starts from now on is in as well."""
        (self._group / "cgroup.procs").write_text(str(process))

    def freeze(self, seconds: float) -> bool:
        """Whether nothing in there runs any more, after waiting for it that long at most."""
        until = time.monotonic() + seconds
        with self._lock:
            if self._open:
                os.pwrite(self._switch, b"1", 0)
            looks = 0
            while self._open:
                told = os.pread(self._told, 1000, 0)
                if b"frozen 1" in told or b"populated 0" in told:
                    break
                if time.monotonic() > until:
                    return False
                looks += 1
                if looks > _QUICK_LOOKS:
                    # Who has to stand still may need this processor for that.
                    time.sleep(_PAUSE_S)
        return True

    def thaw(self) -> None:
        """Let it go on."""
        with self._lock:
            if self._open:
                os.pwrite(self._switch, b"0", 0)

    def remove(self) -> None:
        """Remove the group, now that it is empty."""
        with self._lock:
            self._open = False
            os.close(self._switch)
            os.close(self._told)
        remove_patiently(self._group)
