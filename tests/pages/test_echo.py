"""What an output says beside the lines that its diffs show."""

from __future__ import annotations

import pytest

from kbsite.model.transcript import DiffLine, FileDiff
from kbsite.pages.echo import LEAST, echo_of

LINES = [f"line {number}" for number in range(1, LEAST + 6)]


def diff_of(lines: list[str]) -> FileDiff:
    return FileDiff("a.py", "write", tuple(DiffLine("+", line) for line in lines))


def numbered(lines: list[str], first: int = 1) -> str:
    return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, first))


def test_numbered_lines_that_a_diff_shows_are_left_out() -> None:
    found = echo_of("Done:\n" + numbered(LINES) + "\nmore", [diff_of(LINES)])

    assert found is not None
    assert (found.before, found.first, found.last, found.after) == ("Done:", 1, len(LINES), "more")


@pytest.mark.parametrize("digits", [4299, 4300, 5000])
def test_a_number_of_any_length_is_a_text_like_others(digits: int) -> None:
    assert echo_of("Done:\n" + "9" * digits + "\tline 1", [diff_of(LINES)]) is None
