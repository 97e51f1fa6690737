"""How much processor time the processes of a session have used."""

from __future__ import annotations

import os

from bench.sandbox.processes import family, fields_of

_TICKS = os.sysconf("SC_CLK_TCK")


class Processor:
    """Adds up what a process and its descendants use, those that have ended included."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[tuple[int, str], int] = {}
        self._ticks = 0

    @property
    def seconds(self) -> float:
        """Processor time used so far, as far as it was seen; asking takes a look."""
        now = {}
        for pid in family(self._pid):
            told = _used(pid)
            if told is not None:
                now[pid, told[0]] = told[1]
        self._ticks += sum(max(0, ticks - self._seen.get(key, 0)) for key, ticks in now.items())
        self._seen = now
        return self._ticks / _TICKS


def _used(pid: int) -> tuple[str, int] | None:
    """When a process started, and its time with that of children it waited for, in ticks."""
    words = fields_of(f"/proc/{pid}")
    return (words[19], sum(int(word) for word in words[11:15])) if words else None
