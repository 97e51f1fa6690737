"""What a CLI recorded of an edit that did something else than its call asked for.

Some CLIs look for what is nearly the text to be replaced, and put the new text in its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kbsite.fold.patches import patch_lines
from kbsite.fold.work import LARGEST
from kbsite.model.event import Edit, ToolResult
from kbsite.model.transcript import DiffLine, FileDiff

_TEXTS = ("diff", "fileDiff", "diffString")
"""Keys under which CLIs keep a unified diff of what they changed in one file."""
_HUNKS = "structuredPatch"
"""The key under which Claude Code keeps its hunks."""
_NUMBERED = re.compile(r" *(?:\d+\|)?\.\.\.|([ +-]) *\d+[| ](.*)", re.DOTALL)
"""A line with its sign and its number, or what stands for lines that are left out."""
_FIRST = re.compile(r"^@@ -[0-9]", re.MULTILINE)


def as_recorded(asked: list[FileDiff], edits: Sequence[Edit], result: ToolResult) -> list[FileDiff]:
    """The diffs of what a call asked for, or that of its CLI where that is another change."""
    if len(edits) != 1 or not (edits[0].old or asked[0].untold):
        return asked
    (diff,), shown = asked, _set_in(tuple(_recorded(result)), edits[0].new)
    if diff.untold:
        return [replace(diff, lines=shown, untold=False)] if _net(shown) else asked
    wanted, done = _net(diff.lines), _net(shown)
    if not done or done == wanted:
        return asked
    same = diff.everywhere and _are_as_many(wanted, done)
    return [replace(diff, lines=shown, everywhere=False, otherwise=not same)]


def as_done(edits: Sequence[Edit], diffs: Sequence[FileDiff]) -> Sequence[Edit]:
    """The edits of a call as they were made, by its diffs."""
    if len(diffs) != 1 or not diffs[0].otherwise:
        return edits
    lines = (("" if sign == "@" else sign) + text for sign, text in diffs[0].lines)
    return [Edit(edits[0].path, None, "", patch="\n".join(lines))]


def _recorded(result: ToolResult) -> Iterator[DiffLine]:
    """The lines of the diff that a CLI kept; none where it kept none."""
    held = result.recorded
    if isinstance(held, str):
        return
    for key in _TEXTS:
        told = held.get(key)
        if isinstance(told, str) and len(told) <= LARGEST and (first := _FIRST.search(told)):
            # What stands before the first hunk names the file.
            yield from patch_lines(told[first.start() :])
            return
        if isinstance(told, str) and (lines := _numbered(told)):
            yield from lines
            return
    hunks = held.get(_HUNKS)
    for hunk in hunks if isinstance(hunks, list) else []:
        if isinstance(hunk, Mapping):
            yield from _hunk(hunk)


def _set_in(lines: tuple[DiffLine, ...], new: str) -> tuple[DiffLine, ...]:
    """The lines of a diff with the blanks that its CLI took off all of them, as opencode does.

    What they were is told by the new text of the call, which stands in the file as it is.
    """
    blanks = _taken_off([text for sign, text in lines if sign == "+" and text.strip()], new)
    if not blanks:
        return lines
    return tuple(
        DiffLine(sign, f"{blanks}{text}" if sign != "@" and text.strip() else text)
        for sign, text in lines
    )


def _taken_off(added: list[str], new: str) -> str:
    """What added lines of a diff lack at their begin of those of a text; empty where unsure."""
    asked: dict[str, set[str]] = {}
    for line in new.split("\n"):
        asked.setdefault(line.strip(), set()).add(line)
    lost = [
        {whole[: -len(text)] for whole in asked[text.strip()] if whole.endswith(text)}
        for text in added
        if text.strip() in asked
    ]
    common = set.intersection(*lost) if lost else {""}
    return common.pop() if len(common) == 1 else ""


def _numbered(told: str) -> list[DiffLine]:
    """The lines of a diff in which each has its number, as pi writes them; none of another."""
    found = [_NUMBERED.fullmatch(line) for line in told.split("\n")]
    if len(told) > LARGEST or None in found:
        return []
    lines = [(line[1], line[2]) for line in found if line]
    return [DiffLine(sign or "@", text if sign else "@@") for sign, text in lines]


def _hunk(hunk: Mapping[str, object]) -> Iterator[DiffLine]:
    lines = hunk.get("lines")
    told = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    spans = (f"{hunk.get(f'{side}Start')},{hunk.get(f'{side}Lines')}" for side in ("old", "new"))
    old, new = spans
    yield DiffLine("@", f"@@ -{old} +{new} @@")
    for line in told:
        yield DiffLine(line[:1] if line[:1] in ("+", "-") else " ", line[1:])


def _net(lines: Iterable[DiffLine]) -> Counter[str]:
    """How many more of each line there are afterwards: the same, however a diff was taken.

    Blanks do not count: some CLIs tell lines without what all of them are set in by.
    """
    found: Counter[str] = Counter()
    for sign, text in lines:
        if sign in ("+", "-") and (line := text.strip()):
            found[line] += 1 if sign == "+" else -1
    return Counter({line: number for line, number in found.items() if number})


def _are_as_many(one: Counter[str], many: Counter[str]) -> bool:
    """Whether a change is another one, made in several places."""
    times = {number / one[line] if one[line] else 0 for line, number in many.items()}
    return one.keys() == many.keys() and len(times) == 1 and times.pop() > 0
