"""Patches, as unified diffs or apply_patch hunks, and what they make of a known file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.model.transcript import DiffLine

_MOVE = "*** Move to: "
_NUMBERS = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,[0-9]{1,9})? @@.*")


class _Hunk(Struct):
    """Lines that stand together in a file."""

    header: str = ""
    lines: list[DiffLine] = field(default_factory=list)

    @property
    def old(self) -> list[str]:
        return [line.text for line in self.lines if line.sign in " -"]

    @property
    def new(self) -> list[str]:
        return [line.text for line in self.lines if line.sign in " +"]


def moved_to(patch: str) -> str:
    """The path that a patch moves its file to; empty where it names none."""
    lines = patch.split("\n")
    return next((line.removeprefix(_MOVE).strip() for line in lines if line.startswith(_MOVE)), "")


def patch_lines(patch: str) -> Iterator[DiffLine]:
    """The lines of a patch as a diff; what is neither changed nor context is a jump."""
    lines = patch.removesuffix("\n").split("\n")
    for number, line in enumerate(lines):
        if _names_file(lines, number) or line[:1] not in ("+", "-", " ", ""):
            yield DiffLine("@", line)
        else:
            # Editors strip the blank that marks an empty line of context.
            yield DiffLine(line[:1] or " ", line[1:])


def _names_file(lines: list[str], number: int) -> bool:
    """Whether a line is one of the two above a unified diff that name the file."""
    for first in (number, number - 1):
        pair = lines[max(first, 0) : first + 3]
        if len(pair) == 3 and pair[0].startswith("--- ") and pair[1].startswith("+++ "):
            return pair[2].startswith("@@")
    return False


def patched(before: str, patch: str) -> str | None:
    """A file after a patch; None where the place of a hunk cannot be told."""
    lines, done = before.split("\n"), 0
    shift = 0
    for hunk in _hunks(patch):
        old, new = hunk.old, hunk.new
        place = _place(lines, hunk, done, shift)
        if place is None:
            return None
        lines[place : place + len(old)] = new
        done = place + len(new)
        shift += len(new) - len(old)
    return "\n".join(lines)


def _hunks(patch: str) -> Iterator[_Hunk]:
    hunk = _Hunk()
    for line in patch_lines(patch):
        if line.sign != "@":
            hunk.lines.append(line)
        elif line.text.startswith("@@"):
            if hunk.lines:
                yield hunk
            hunk = _Hunk(line.text)
    if hunk.lines:
        yield hunk


def _place(lines: list[str], hunk: _Hunk, done: int, shift: int) -> int | None:
    """Where a hunk stands, from index `done`; `shift` is what earlier hunks moved it by."""
    old = hunk.old
    if numbers := _NUMBERS.fullmatch(hunk.header):
        first = int(numbers[1]) + shift - (0 if numbers[2] == "0" else 1)
        fits = done <= first <= len(lines) and lines[first : first + len(old)] == old
        return first if fits else None
    start = _start(lines, hunk, done)
    return None if start is None or not old else _found(lines, old, start)


def _found(lines: list[str], wanted: list[str], start: int) -> int | None:
    """Where some lines first stand among others, from index `start`; each is looked at twice."""
    # Of the wanted lines up to each: how many of their last ones are their first ones again.
    again, held = [0], 0
    for line in wanted[1:]:
        while held and line != wanted[held]:
            held = again[held - 1]
        held += line == wanted[held]
        again.append(held)
    held = 0
    for place in range(start, len(lines)):
        while held and lines[place] != wanted[held]:
            held = again[held - 1]
        held += lines[place] == wanted[held]
        if held == len(wanted):
            return place + 1 - held
    return None


def _start(lines: list[str], hunk: _Hunk, done: int) -> int | None:
    """The first line that a hunk may stand at: after the line that its header names, if any."""
    anchor = hunk.header.removeprefix("@@").strip()
    if not anchor:
        return done
    found = (n for n in range(done, len(lines)) if lines[n].strip() == anchor)
    start = next(found, None)
    if start is None:
        return None
    # The line that the header names may itself be the first of the hunk.
    return start if hunk.old[:1] == [lines[start]] else start + 1
