"""Differences between texts, with the words that changed in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from markupsafe import Markup

from kbsite.model.transcript import DiffLine
from kbsite.text.changed_words import ENDS, STARTS, with_marks
from kbsite.text.safe import escaped, visible

_DIFF_TAGS = {"+": "ins", "-": "del", "@": "i"}


def diff(lines: Sequence[DiffLine]) -> Markup:
    """A diff: a tag for each run of lines added or removed, a mark for each changed word."""
    return Markup(inner_diff(lines))  # noqa: S704 - it is escaped there


def inner_diff(lines: Sequence[DiffLine]) -> str:
    """The same for who writes HTML by hand."""
    shown: list[tuple[str, str]] = []
    for sign, run in groupby(lines, key=itemgetter(0)):
        start = "" if sign == "@" else sign
        told = visible("".join([f"{start}{text}\n" for _, text in run]))
        if sign == "+" and shown and shown[-1][0] == "-":
            removed, told = with_marks(shown.pop()[1], told)
            shown.append(("-", removed))
        shown.append((sign, told))
    return "".join([_run(sign, told) for sign, told in shown])


def _run(sign: str, told: str) -> str:
    body = escaped(told).replace(STARTS, "<b>").replace(ENDS, "</b>")
    tag = _DIFF_TAGS.get(sign)
    return f"<{tag}>{body}</{tag}>" if tag else body
