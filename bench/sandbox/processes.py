"""Processes as the kernel shows them: who started whom, and how much memory they hold."""

from __future__ import annotations

import os
import select
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def threads_of(pid: int) -> list[str]:
    """The folder below /proc of each thread of a process, the first first; none if it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [f"/proc/{pid}/task/{thread}" for thread in sorted(threads, key=int)]


def words_of(thread: str, name: str) -> list[str]:
    """What the kernel tells of a thread in a file of its folder, in words; none if it is gone."""
    try:
        return Path(thread, name).read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def children(pid: int) -> list[int]:
    """The processes that a process started and that are still there; none if it is gone."""
    return [int(word) for thread in threads_of(pid) for word in words_of(thread, "children")]


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for one in found:
        found += children(one)
    return found


def stopped(pid: int) -> bool:
    """Whether no thread of a process runs until a signal lets it go on; True if it is gone."""
    return all(_state(thread) in "TtZX" for thread in threads_of(pid))


def _state(thread: str) -> str:
    """What a thread does, by a letter; X if it is gone."""
    fields = fields_of(thread)
    return fields[0] if fields else "X"


def fields_of(folder: str) -> list[str]:
    """The state and what follows it in the `stat` of a process or thread; none if it is gone."""
    try:
        told = Path(folder, "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The name before it may hold any bytes, brackets too.
    return told.rpartition(b")")[2].decode().split()


def lines_of(pid: int, name: str) -> list[str]:
    """The lines of a file of /proc; OSError if it is gone.

    The kernel ends them with a line feed, and escapes that alone: names may hold whatever else
    could be taken for the end of a line, and bytes that are no text.
    """
    return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace").split("\n")[:-1]


def runs(pid: int) -> dict[str, int]:
    """How often each thread of a process was given a processor, by its folder below /proc.

    A thread of which the kernel does not tell is left out, and so is one that is gone.
    """
    counts = {thread: runs_of(thread) for thread in threads_of(pid)}
    return {thread: count for thread, count in counts.items() if count is not None}


def runs_of(thread: str) -> int | None:
    """The same of one thread; None where it is gone, or the kernel does not tell."""
    words = words_of(thread, "schedstat")
    return int(words[2]) if words else None


def resident_bytes(pid: int) -> int:
    """The memory of a process that is in RAM, shared pages included, in bytes; 0 if it is gone."""
    try:
        words = Path(f"/proc/{pid}/statm").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(words[1]) * _PAGE


def ended_within(handle: int, seconds: float) -> bool:
    """Whether a process ended, after waiting for it that long at most; a pidfd stands for it."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def status_of(pid: int, name: str) -> str:
    """A line of /proc/…/status without its name; empty if the kernel writes none of that name."""
    for line in lines_of(pid, "status"):
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return ""
