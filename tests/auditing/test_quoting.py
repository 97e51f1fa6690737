"""Places in a run as they are written on a command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.auditing.quoting import Cited, address, cited
from kbsite.cli.audit.printing import as_line, safe
from kbsite.errors import UsageError
from kbsite.model.audit import Quote


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("solution.py:12", Cited("solution.py", (12,))),
        ("solution.py:12-12", Cited("solution.py", (12,))),
        ("solution.py:12-20", Cited("solution.py", (12, 20))),
        ("files/a: b@c.py:1", Cited("files/a: b@c.py", (1,))),
        ("transcript/stdout.jsonl@L3-1x2", Cited("transcript/stdout.jsonl", event="L3-1x2")),
        ("transcript/a@b.jsonl@f01-L3", Cited("transcript/a@b.jsonl", event="f01-L3")),
        ("snapshots/20260102T030405Z.py.diff:3", Cited("snapshots/20260102T030405Z.py.diff", (3,))),
    ],
)  # fmt: skip
def test_files_lines_and_events_are_told_apart(told: str, meant: Cited) -> None:
    assert cited(told) == meant


@given(st.text(min_size=1), st.integers(1, 10**9 - 1), st.integers(0, 1000))
def test_an_address_leads_back_to_what_it_is_the_address_of(
    file: str, first: int, more: int
) -> None:
    lines = (first, first + more) if more and first + more < 10**9 else (first,)
    quote = Quote(file=file, lines=lines, text="")

    assert cited(address(quote)) == Cited(file, lines)


@given(st.text())
def test_anything_else_is_wrong_use_and_told_safely(told: str) -> None:
    try:
        meant = cited(told)
    except UsageError as error:
        meant, said = None, str(error)
    if meant is None:
        assert said.isprintable()
    else:
        assert meant.file
        assert bool(meant.lines) is not bool(meant.event)


@given(st.text(st.characters()))
def test_no_text_acts_on_a_terminal_or_takes_a_second_line(text: str) -> None:
    assert safe(text).isprintable()
    assert as_line(text).isprintable()
