"""Which lines of a Python source wrote the lines of a text that is put together there."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from typing import Final, cast

from kbsite.alarms.python.module import Module, lines

_OPENING: Final = re.compile(
    r"""^\s*[+(,]?\s*(?:return\s+)?(?:[\w.]+\s*(?:[=(,]|\+=?)\s*)*\(?\s*[rRbBfFuU]{0,2}(?:\"{3}|'{3}|\"|')"""
)
_LONGEST_ROW: Final = 500
_CLOSING: Final = re.compile(r"""(?:\\n)?(?:\"{3}|'{3}|\"|')?[\s,)+\\]*$""")


_Rows = tuple[list[str], dict[str, list[int]]]


def _rows(module: Module) -> _Rows:
    """The lines of a Python source, and where each stands, with the signs of a text or without."""
    held = module.memo.get("native rows")
    if held is None:
        rows = module.source.text.split("\n")
        where: dict[str, list[int]] = {}
        for number, row in enumerate(rows, 1):
            where.setdefault(row.strip(), []).append(number)
            if len(row) < _LONGEST_ROW and ('"' in row or "'" in row):
                begun = _OPENING.sub("", row)
                where.setdefault(begun.strip(), []).append(number)
                where.setdefault(_CLOSING.sub("", begun).strip(), []).append(number)
        held = module.memo["native rows"] = (rows, where)
    return cast("_Rows", held)


def lines_of(module: Module, node: ast.expr, text: str) -> tuple[int, ...]:
    """For each line of a text the line of the file that wrote it.

    The lines are looked for where the text is written, in their order; one that is written in
    another way stands where the one before it does, or where the text is put together.
    """
    rows, where = _rows(module)
    first, last = lines(node)
    last = min(last, len(rows))
    found, at = [], first
    for line in text.split("\n"):
        held = where.get(line.strip(), ()) if line.strip() else ()
        at = _placed(held, at, first, last)
        alike = not held and at < len(rows) and _begins_alike(rows[at], line)
        at += alike
        written = held or alike or first <= at <= last or not line.strip()
        found.append(at if written else first)
    return tuple(found)


def _begins_alike(row: str, line: str) -> bool:
    """Whether a line may have been written so, with parts of it filled in."""
    beginning = line.strip()[:4]
    return len(beginning) == 4 and row.strip().startswith(beginning)


def _placed(candidates: list[int] | tuple[()], at: int, first: int, last: int) -> int:
    """The candidate that goes on from a line: the next within the text, else the next at all."""
    low, high = bisect_left(candidates, first), bisect_right(candidates, last)
    if low == high:
        low, high = 0, len(candidates)
    following = bisect_left(candidates, at, low, high)
    if following < high:
        return candidates[following]
    return candidates[low] if low < high else at
