"""Which processes there are, and who started them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def processes() -> Mapping[int, int]:
    """The parent of every process that can be seen, by its number."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(path.parent.name)] = int(fields[1])
    return found


def descendants(ancestor: int) -> set[int]:
    """All processes that a process started, and those that these started."""
    parents = processes()
    found: set[int] = set()
    grown = {ancestor}
    while grown:
        grown = {child for child, parent in parents.items() if parent in grown} - found
        found |= grown
    return found
