"""Lines that somebody cites: a first and a last one, or one, counted from 1."""

from __future__ import annotations

from collections.abc import Sequence


def line_words(lines: Sequence[int]) -> str:
    """Cited lines in words: "line 12", "lines 12 to 20"; empty for none."""
    if not lines:
        return ""
    if lines[0] == lines[-1]:
        return f"line {lines[0]}"
    return f"lines {lines[0]} to {lines[-1]}"


def line_span(lines: Sequence[int]) -> str:
    """Cited lines as they follow a file's name on a command line: "12", "12-20"."""
    return "-".join(map(str, dict.fromkeys(lines)))
