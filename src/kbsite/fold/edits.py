"""Edits that tool calls ask for, as diffs against what is known of the files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from kbsite.model.event import Edit
from kbsite.model.transcript import DiffLine, FileDiff

CONTEXT = 3
"""Lines shown around a change."""


class Files:
    """The content of each file as far as the edits of one agent tell it."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def diff(self, edit: Edit) -> FileDiff:
        """What an edit would change; nothing is changed yet."""
        before = self._known.get(edit.path)
        after = self._after(edit, before)
        if edit.patch:
            return FileDiff(edit.path, edit.action, tuple(_patch_lines(edit.patch)))
        if edit.action == "delete":
            return FileDiff(edit.path, "delete", tuple(_changed(before or "", "")))
        if edit.old is None:
            action = "add" if edit.action == "add" else "write" if before is None else "update"
            return FileDiff(edit.path, action, tuple(_changed(before or "", edit.new)))
        if before is None or after is None:
            return FileDiff(edit.path, edit.action, tuple(_changed(edit.old, edit.new)))
        return FileDiff(edit.path, edit.action, tuple(_changed(before, after)))

    def apply(self, edit: Edit) -> None:
        """Take an edit as done; a file that can no longer be told is forgotten."""
        after = self._after(edit, self._known.get(edit.path))
        if after is None:
            self._known.pop(edit.path, None)
        else:
            self._known[edit.path] = after

    def _after(self, edit: Edit, before: str | None) -> str | None:
        if edit.action in ("delete", "move"):
            return None
        if edit.patch:
            return _patched(before, edit.patch)
        if edit.old is None:
            return edit.new
        if before is None or edit.old not in before:
            return None
        return before.replace(edit.old, edit.new, -1 if edit.every else 1)


def _changed(before: str, after: str) -> Iterator[DiffLine]:
    old, new = before.splitlines(), after.splitlines()
    # Most edits touch a few lines of a long file: what is equal at both ends needs no matching.
    start = _equal(old, new)
    end = _equal(old[start:][::-1], new[start:][::-1])
    low = max(0, start - CONTEXT)
    high = max(0, end - CONTEXT)
    matched = difflib.unified_diff(
        old[low : len(old) - high], new[low : len(new) - high], lineterm="", n=CONTEXT
    )
    for number, line in enumerate(matched):
        if number < 2:  # the two lines with the names of the files
            continue
        if line.startswith("@@"):
            yield DiffLine("@", _shifted(line, low))
        else:
            yield DiffLine(line[0], line[1:])


def _equal(old: list[str], new: list[str]) -> int:
    pairs = zip(old, new, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _shifted(header: str, by: int) -> str:
    """A hunk header with line numbers of the whole file, not of the part that was compared."""
    _, old, new, _ = header.split(" ", 3)
    spans = []
    for span in (old, new):
        first, _, count = span[1:].partition(",")
        # An empty side is numbered by the line before it: 0 stays 0 only in an empty file.
        spans.append(f"{span[0]}{int(first) + by}" + (f",{count}" if count else ""))
    return f"@@ {spans[0]} {spans[1]} @@"


def _patch_lines(patch: str) -> Iterator[DiffLine]:
    for line in patch.splitlines():
        if line[:1] in ("+", "-", " "):
            yield DiffLine(line[0], line[1:])
        else:
            yield DiffLine("@", line)


def _patched(before: str | None, patch: str) -> str | None:
    """The file after an apply_patch change; None where a hunk's place is not found."""
    if before is None:
        return None
    text = before
    for hunk in _hunks(patch):
        old = "\n".join(line.text for line in hunk if line.sign in " -")
        new = "\n".join(line.text for line in hunk if line.sign in " +")
        if not old or old not in text:
            return None
        text = text.replace(old, new, 1)
    return text


def _hunks(patch: str) -> Iterator[list[DiffLine]]:
    hunk: list[DiffLine] = []
    for line in _patch_lines(patch):
        if line.sign == "@":
            if hunk:
                yield hunk
            hunk = []
        else:
            hunk.append(line)
    if hunk:
        yield hunk
