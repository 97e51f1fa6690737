"""What changed from one recorded snapshot to the next, as lines that an audit can cite."""

from __future__ import annotations

import difflib
from collections import Counter

from kbsite.store.runs import StoredRun
from kbsite.store.snapshots import LONGEST, SNAPSHOTS

DIFF = ".diff"
CONTEXT = 3
MATCHES = 500_000
"""Pairs of equal lines from which two copies are not matched, but told one after the other."""


def snapshot_diff(stored: StoredRun, name: str) -> str | None:
    """What `snapshots/NAME.diff` stands for: the unified diff of the copy `snapshots/NAME`.

    It is held against the copy before it in the order of their names, which are times; the first
    one has an empty diff. None where the run has no such copy, or either of them is too long.
    """
    copies = [file for file in stored.files if file.name.startswith(SNAPSHOTS)]
    own = name.removesuffix(DIFF)
    place = next((n for n, file in enumerate(copies) if file.name == own), None)
    if place is None or not name.endswith(DIFF):
        return None
    pair = copies[max(0, place - 1) : place + 1]
    if any(file.size > LONGEST for file in pair):
        return None
    if place == 0:
        return ""
    before, after = (_lines(file.read()) for file in pair)
    return _diff(before, after, pair[0].name, pair[1].name)


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _diff(before: list[str], after: list[str], old: str, new: str) -> str:
    if before == after:
        return ""
    if _pairs(before, after) > MATCHES:
        head = f"@@ -1,{len(before)} +1,{len(after)} @@"
        rows = [f"--- {old}", f"+++ {new}", head]
        rows += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    else:
        rows = list(difflib.unified_diff(before, after, old, new, n=CONTEXT, lineterm=""))
    return "".join(f"{row}\n" for row in rows)


def _pairs(before: list[str], after: list[str]) -> int:
    there = Counter(after)
    common = len(after) // 100 + 1 if len(after) >= 200 else len(after)
    return sum(n * there[line] for line, n in Counter(before).items() if there[line] <= common)
