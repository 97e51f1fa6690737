"""Tables of commands: rich ones at a terminal, lines for programs; hostile words are tamed."""

from __future__ import annotations

import io
import re
import sys

import pytest

from bench.__main__ import Plain
from bench.cli import Terminal
from bench.lines import columns, printable

ROWS = (("one", "yes", "short"), ("a longer name", "no", "see [bold]here[/bold]\x1b[31m\n now"))
HEADINGS = ("name", "there", "what")


def test_columns_are_as_wide_as_what_is_longest_in_them() -> None:
    assert columns(HEADINGS, ROWS[:1]) == ["name  there  what", "one   yes    short"]
    assert columns(HEADINGS, ()) == ["name  there  what"]
    assert columns(("a", "b"), (("wide cell", ""), ("x", "y"))) == [
        "a          b", "wide cell", "x          y",
    ]  # fmt: skip


def test_columns_share_a_width_that_is_too_small_for_them() -> None:
    rows = (("a", "one two three four five", "six seven eight nine"), ("b", "", "z" * 30))
    lines = columns(("n", "first", "second"), rows, 35)
    assert max(map(len, lines)) <= 35
    assert lines[:3] == [
        "n  first            second", "a  one two three    six seven eight",
        "   four five        nine",
    ]  # fmt: skip
    assert "".join(lines).count("z") == 30, "nothing is left out"
    assert columns(("n", "first", "second"), rows, 200) == columns(("n", "first", "second"), rows)


@pytest.mark.parametrize("front", [Plain(), Terminal()], ids=["plain", "click"])
def test_a_program_gets_a_line_a_row(
    front: Plain | Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    front.table(HEADINGS, ROWS, ("good", "bad"))
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 3
    assert "\x1b" not in out
    assert "see [bold]here[/bold] [31m  now" in out


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_gets_a_table_that_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = _Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    Terminal().table(HEADINGS, [*ROWS, ("long", "no", "words " * 30)], ("good", "bad"))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    assert max(map(len, lines)) <= 40
    assert "\x1b[32m" in screen.getvalue(), "rows have their tones"
    assert lines[1].split() == ["name", "there", "what"]
    assert len(lines) > 8, "long words are folded"
    assert "[bold]here[/bo" in "".join(lines), "no word is taken for a mark"


def test_control_characters_never_reach_a_terminal() -> None:
    assert printable("a\x1b]0;title\x07b\r\x00é✓") == "a ]0;title b  é✓"
