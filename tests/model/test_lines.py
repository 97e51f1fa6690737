"""Cited lines read alike wherever they are told: on pages, in findings, on the command line."""

from __future__ import annotations

import pytest

from kbsite.auditing.quoting import address, cited
from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Quote
from kbsite.model.lines import line_span, line_words


@pytest.mark.parametrize(
    ("lines", "words", "span"),
    [
        ((), "", ""),
        ((12,), "line 12", "12"),
        ((12, 12), "line 12", "12"),
        ((12, 20), "lines 12 to 20", "12-20"),
    ],
)
def test_lines_are_told_in_words_and_as_a_command_line_takes_them(
    lines: tuple[int, ...], words: str, span: str
) -> None:
    assert (line_words(lines), line_span(lines)) == (words, span)


@pytest.mark.parametrize(
    ("lines", "event", "where"),
    [
        ((), "", "a.py"),
        ((3, 3), "", "a.py line 3"),
        ((3, 4), "", "a.py lines 3 to 4"),
        ((), "L7-1", "a.py event L7-1"),
    ],
)
def test_a_quote_says_where_it_stands(lines: tuple[int, ...], event: str, where: str) -> None:
    assert Quote(file="a.py", lines=lines, event=event, text="").where == where


@pytest.mark.parametrize(
    ("file", "lines", "where", "span"),
    [
        ("", (), "", ""),
        ("a.py", (), "a.py", "a.py"),
        ("a.py", (3,), "a.py line 3", "a.py:3"),
        ("a.py", (3, 9), "a.py lines 3 to 9", "a.py:3-9"),
    ],
)
def test_an_alarm_says_where_it_points(
    file: str, lines: tuple[int, ...], where: str, span: str
) -> None:
    held = Alarm(kind="k", level=Level.NOTE, saw="s", look="l", file=file, lines=lines)

    assert (held.where, held.span) == (where, span)


@pytest.mark.parametrize("told", ["a.py:3", "a b.py:3-9", "transcript/s.jsonl@L7-1"])
def test_what_a_command_line_takes_is_told_as_it_takes_it(told: str) -> None:
    meant = cited(told)
    quote = Quote(file=meant.file, lines=meant.lines, event=meant.event, text="x")

    assert address(quote) == told
