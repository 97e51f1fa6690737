"""The blocks of a Markdown text that need no parser, told from all else."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CHARACTERS = (
    r"A-Za-z0-9 ,.;:?!'\"()/%+=@#$^{}\u00a1-\u00ac\u00ae-\u02ff\u0370-\u058f"
    r"\u2010-\u2015\u2018-\u2026\u2190-\u22ff\u2500-\u25ff\u4e00-\u9fff-"
)
"""What has no meaning of its own wherever it stands in a line, save its start and its end."""

_COLON = r"[.:!?](?=\*\*(?:[ ,;)\n]|\Z))"
"""A sign that strong words may end with, where what follows leaves no doubt that they do."""
_STRONG = rf"\*\*([A-Za-z0-9](?:[A-Za-z0-9 ,.:/+-]*(?:[A-Za-z0-9]|{_COLON}))?)\*\*"
_OF_CODE = r"A-Za-z0-9,.;:?!'()/%+=@#$^{}_*|~\[\]\-"
_CODE = rf"`([{_OF_CODE}](?:[{_OF_CODE} ]*[{_OF_CODE}])?)`"
_MARKS = re.compile(f"{_STRONG}|{_CODE}")
"""Strong words and code: the first group or the second."""

_MARK = rf"(?:{_STRONG}|{_CODE})(?![`*])"
_LINE = (
    rf"""(?>[A-Za-z"'(]|{_MARK})"""
    rf"(?>[{_CHARACTERS}]+|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|{_MARK})*(?<! )"
)
_SIMPLE = re.compile(_LINE)
"""A line of a paragraph that holds nothing but words, strong ones and code."""
_WITHIN = re.compile(rf"(?! )(?>[{_CHARACTERS}]+|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|{_MARK})*(?<! )")
"""The same within a block, such as a cell: where it may start with anything that has no meaning."""

_FENCE = re.compile(r"```([A-Za-z0-9+#.-]*)")


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of a text: simple paragraphs ("p") and lists ("-"), fenced code ("```"), else ("").

    Most that models write are the first three, which need no parser; what stands between two of
    them means the same wherever it stands. Blank lines stand in none but the last.
    """
    lines = text.split("\n")
    rest, at = [], 0
    if "\r" in text:
        rest, at = [text], len(lines)
    while at < len(lines):
        kind, end = _block(lines, at)
        if kind == "-" and rest:
            kind = ""
        if kind and rest:
            yield "", rest
            rest = []
        if kind:
            yield kind, lines[at:end]
        elif rest or lines[at].strip(" \t"):
            rest += lines[at:end]
        at = end
    if rest:
        yield "", rest


def _block(lines: list[str], start: int) -> tuple[str, int]:
    """What stands at a line, as `blocks` names it, and where it ends; a blank line is a block."""
    if not lines[start].strip(" \t"):
        return "", start + 1
    end = _block_end(lines, start)
    kind = _kind(lines[start:end])
    if kind is None:
        return "", len(lines)
    return ("", end) if kind == "-" and not _ends(lines, end) else (kind, end)


def _block_end(lines: list[str], start: int) -> int:
    """Where a block that starts at a line ends: after its fence, or before the next blank line."""
    if _FENCE.fullmatch(lines[start]):
        inside = (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("```"))
        return next(inside, len(lines) - 1) + 1
    simple = True
    for number in range(start, len(lines)):
        # A list ends the simple paragraph that it stands below.
        listed = number > start and simple and _is_item(lines[number])
        if listed or not lines[number].strip(" \t"):
            return number
        simple = simple and _SIMPLE.fullmatch(lines[number]) is not None
    return len(lines)


def _ends(lines: list[str], end: int) -> bool:
    """Whether a list ends for sure before a line: by its text's end, a paragraph or a fence."""
    after = next((line for line in lines[end:] if line.strip(" \t")), None)
    return after is None or bool(_SIMPLE.fullmatch(after) or _FENCE.fullmatch(after))


def _is_item(line: str) -> bool:
    """Whether a line is a simple one as an item of a list."""
    return line.startswith("- ") and _SIMPLE.fullmatch(line, 2) is not None


def is_simple(text: str) -> bool:
    """Whether what stands in a cell, a heading or an item is simple lines, which `marked` reads."""
    return all(map(_WITHIN.fullmatch, text.split("\n")))


def marked(text: str) -> str:
    """The words of simple lines as HTML, with what is strong and what is code."""
    return _MARKS.sub(_tagged, text) if "*" in text or "`" in text else text


def bare(text: str) -> str:
    """The words of simple lines, without the marks of what is strong and what is code."""
    return _MARKS.sub(r"\1\2", text) if "*" in text or "`" in text else text


def _tagged(mark: re.Match[str]) -> str:
    return f"<strong>{mark[1]}</strong>" if mark[1] else f"<code>{mark[2]}</code>"


def _kind(block: list[str]) -> str | None:
    """What a block is; None where it may go on beyond its end."""
    if all(map(_SIMPLE.fullmatch, block)):
        return "p"
    if all(map(_is_item, block)):
        return "-"
    if _FENCE.fullmatch(block[0]) and len(block) > 1 and block[-1] == "```":
        return "```"
    # A fence may go on behind blank lines, in a list too; a simple line would not end it for sure.
    return None if any("```" in line or "~~~" in line for line in block) else ""
