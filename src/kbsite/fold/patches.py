"""Patches, as unified diffs or apply_patch hunks, and what they make of a known file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct, field

from kbsite.line_matching import MATCHES, LineMatcher
from kbsite.model.transcript import DiffLine

_MOVE = "*** Move to: "
_NUMBERS = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,[0-9]{1,9})? @@.*")


class _Hunk(Struct):
    """Lines that stand together in a file."""

    header: str = ""
    lines: list[DiffLine] = field(default_factory=list)
    at_end: bool = False
    """Whether it says that it stands at the end of the file."""
    unclosed: str = ""
    """The signs of the lines of which it says that no line end closes them."""

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


def changes(patch: str) -> Iterator[DiffLine]:
    """The same lines, of which those that are taken out and put back as they were are context.

    Models write such patches: whoever counted all of their signs would count what never changed.
    """
    for changed, several in groupby(patch_lines(patch), lambda line: line.sign in ("+", "-")):
        lines = [*several]
        yield from _without_kept(lines) if changed else lines


def _without_kept(lines: Sequence[DiffLine]) -> Iterable[DiffLine]:
    old, new = ([line.text for line in lines if line.sign == sign] for sign in "-+")
    if set(old).isdisjoint(new) or (matcher := LineMatcher(old, new)).pairs > MATCHES:
        return lines
    found: list[DiffLine] = []
    for tag, start, end, start_new, end_new in matcher.get_opcodes():
        if tag == "equal":
            found += [DiffLine(" ", text) for text in old[start:end]]
            continue
        found += [DiffLine("-", text) for text in old[start:end]]
        found += [DiffLine("+", text) for text in new[start_new:end_new]]
    return found


def _names_file(lines: list[str], number: int) -> bool:
    """Whether a line is one of the two above a unified diff that name the file."""
    for first in (number, number - 1):
        pair = lines[max(first, 0) : first + 3]
        if len(pair) == 3 and pair[0].startswith("--- ") and pair[1].startswith("+++ "):
            return pair[2].startswith("@@")
    return False


def patched(before: str, patch: str) -> str | None:
    """A file after a patch; None where the place of a hunk cannot be told."""
    hunks = [*_hunks(patch)]
    if any(_NUMBERS.fullmatch(hunk.header) for hunk in hunks):
        return _numbered(before, hunks)
    # As apply_patch has it: a line end closes the file afterwards, if none did before.
    lines = before.split("\n") if before else []
    if lines[-1:] == [""]:
        lines.pop()
    made: list[str] = []
    done = 0
    for hunk in hunks:
        found = _place(lines, hunk, done)
        if found is None:
            return None
        place, old, new = found
        made += [*lines[done:place], *new]
        done = place + len(old)
    made += lines[done:]
    return "\n".join(made if made[-1:] == [""] else [*made, ""])


def _numbered(before: str, hunks: Sequence[_Hunk]) -> str | None:
    """A file after a unified diff."""
    lines, done, shift = before.split("\n"), 0, 0
    for hunk in hunks:
        old, new = hunk.old, hunk.new
        numbers = _NUMBERS.fullmatch(hunk.header)
        if numbers is None:
            return None
        place = int(numbers[1]) + shift - (0 if numbers[2] == "0" else 1)
        if not (done <= place <= len(lines) and lines[place : place + len(old)] == old):
            return None
        lines[place : place + len(old)] = new
        done = place + len(new)
        shift += len(new) - len(old)
    unclosed = hunks[-1].unclosed
    if unclosed == "-":
        lines.append("")
    elif unclosed == "+" and lines[-1] == "":
        lines.pop()
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
        elif line.text.startswith("\\ ") and hunk.lines:
            hunk.unclosed += hunk.lines[-1].sign
        elif line.text.strip() == "*** End of File":
            hunk.at_end = True
    if hunk.lines:
        yield hunk


def _place(lines: list[str], hunk: _Hunk, done: int) -> tuple[int, list[str], list[str]] | None:
    """Where a hunk stands, from index `done`, with what it replaces there, and by what."""
    old, new, start, named = hunk.old, hunk.new, done, None
    if hunk.header.startswith("@@ "):
        named = _sought(lines, [hunk.header.removeprefix("@@ ")], done)
        if named is None:
            return None
        start = named + 1
    if not old:
        return None
    place = _sought(lines, old, start, at_end=hunk.at_end)
    if place is None and named is not None and old[0] == lines[named]:
        # The line that the header names may itself be the first of the hunk.
        place = _sought(lines, old, named, at_end=hunk.at_end)
    if place is None and len(old) > 1 and not old[-1]:
        # The end of the last line is no line, and was meant by one.
        old, new = old[:-1], new[:-1] if new[-1:] == [""] else new
        place = _sought(lines, old, start, at_end=hunk.at_end)
    return None if place is None else (place, old, new)


_AS_GOOD = (None, str.rstrip, str.strip)
"""How lines are compared, each where the one before finds nothing."""


def _sought(lines: list[str], wanted: list[str], start: int, *, at_end: bool = False) -> int | None:
    """Where some lines first stand among others, from index `start`, as apply_patch looks."""
    if at_end:
        # Programs do not agree on where else to look.
        last = len(lines) - len(wanted)
        return last if last >= start and lines[last:] == wanted else None
    for loosened in _AS_GOOD:
        every = [loosened(line) for line in lines] if loosened else lines
        place = _found(every, [loosened(w) for w in wanted] if loosened else wanted, start)
        if place is not None:
            return place
    return None


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
