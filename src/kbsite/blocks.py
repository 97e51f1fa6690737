"""The blocks of a Markdown text that need no parser, told from all else."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SIMPLE = re.compile(
    r"[A-Za-z](?:[A-Za-z0-9 ,.;:?!'()/%+=@#$^{}-]*[A-Za-z0-9,.;:?!'()/%+=@#$^{}-])?"
)
"""A line of a paragraph in which nothing has a meaning of its own, wherever it stands."""

_FENCE = re.compile(r"```([A-Za-z0-9+#.-]*)")


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of a text as simple paragraphs ("p"), fenced code ("```"), and all else ("").

    Most that models write are the first two, which need no parser; what stands between two of them
    means the same wherever it stands. Blank lines stand in none but the third.
    """
    lines = [] if "\r" in text else text.split("\n")
    rest, at = [] if lines else [text], 0
    while at < len(lines):
        if not lines[at].strip(" \t"):
            rest += lines[at : at + 1] if rest else []
            at += 1
            continue
        end = _block_end(lines, at)
        kind = _kind(lines[at:end])
        if kind is None:
            rest += lines[at:]
            break
        if kind and rest:
            yield "", rest
            rest = []
        if kind:
            yield kind, lines[at:end]
        else:
            rest += lines[at:end]
        at = end
    if rest:
        yield "", rest


def _block_end(lines: list[str], start: int) -> int:
    """Where a block that starts at a line ends: after its fence, or before the next blank line."""
    if _FENCE.fullmatch(lines[start]):
        inside = (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("```"))
        return next(inside, len(lines) - 1) + 1
    blank = (n for n in range(start + 1, len(lines)) if not lines[n].strip(" \t"))
    return next(blank, len(lines))


def _kind(block: list[str]) -> str | None:
    """What a block is; None where it may go on beyond its end."""
    if all(map(_SIMPLE.fullmatch, block)):
        return "p"
    if _FENCE.fullmatch(block[0]) and len(block) > 1 and block[-1] == "```":
        return "```"
    # A fence may go on behind blank lines, in a list too; a simple line would not end it for sure.
    return None if any("```" in line or "~~~" in line for line in block) else ""
