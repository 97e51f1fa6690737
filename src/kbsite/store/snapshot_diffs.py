"""What changed from one recorded snapshot to the next, as lines that an audit can cite."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.line_matching import MATCHES, LineMatcher
from kbsite.store.run_folders import SNAPSHOTS
from kbsite.store.runs import StoredRun
from kbsite.store.snapshots import LONGEST

DIFF = ".diff"
CONTEXT = 3


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
    matcher = LineMatcher(before, after)
    if matcher.pairs > MATCHES:
        head = f"@@ -1,{len(before)} +1,{len(after)} @@"
        rows = [f"--- {old}", f"+++ {new}", head]
        rows += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    else:
        rows = [f"--- {old}", f"+++ {new}", *_hunks(before, after, matcher)]
    return "".join(f"{row}\n" for row in rows)


def _hunks(before: list[str], after: list[str], matcher: LineMatcher) -> Iterator[str]:
    for hunk in matcher.get_grouped_opcodes(CONTEXT):
        (_, start, _, start_new, _), (_, _, end, _, end_new) = hunk[0], hunk[-1]
        yield f"@@ -{_span(start, end)} +{_span(start_new, end_new)} @@"
        for tag, first, last, first_new, last_new in hunk:
            if tag == "equal":
                yield from (f" {line}" for line in before[first:last])
                continue
            yield from (f"-{line}" for line in before[first:last])
            yield from (f"+{line}" for line in after[first_new:last_new])


def _span(start: int, end: int) -> str:
    """A stretch of lines as the head of a hunk names it; an empty one by the line before it."""
    return str(start + 1) if end - start == 1 else f"{start + (end > start)},{end - start}"
