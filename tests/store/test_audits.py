from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbsite.model.audit import Audit, Effect, Provenance, Quote, Verdict
from kbsite.store.audits import add_quote, amend, audit_text, set_event, set_lines
from kbsite.store.records import InvalidFileError, yaml_record

WRITTEN = """\
# What I think of it.
verdict: interesting   # so far
summary: >  # for the board
  It keeps the weights
  in shared memory.

quotes:
  # the load
  - file: solution.py
    lines: [3, 4]   # the loop
    text: |
      for i in range(4):
          load(i)

  - lines:
      - 7
    file: 'check.log'
    text: "PASS"
  # no more

implication: none   # none at all
auditor: me
mood: good
"""

QUOTE = Quote(file="solution.py", lines=(1,), label="start", text="import torch")
DAY = datetime.date(2026, 3, 4)


def held(tmp_path: Path, text: str = WRITTEN) -> Path:
    path = tmp_path / "audit.yaml"
    path.write_bytes(text.encode())
    return path


def changed(path: Path, before: str = WRITTEN) -> tuple[list[str], list[str]]:
    """The lines that are gone, and those that are new."""
    old, new = before.splitlines(), path.read_bytes().decode().splitlines()
    return [row for row in old if row not in new], [row for row in new if row not in old]


def test_other_lines_of_a_quote_change_nothing_else(tmp_path: Path) -> None:
    path = held(tmp_path)
    assert set_lines(path, 0, (13, 14)).quotes[0].lines == (13, 14)
    assert changed(path) == (
        ["    lines: [3, 4]   # the loop"],
        ["    lines: [13, 14]   # the loop"],
    )


def test_lines_written_below_each_other_stay_so(tmp_path: Path) -> None:
    path = held(tmp_path)
    assert set_lines(path, 1, (9, 10)).quotes[1].lines == (9, 10)
    assert changed(path) == (["      - 7"], ["      - 9", "      - 10"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lines: [3]}", "lines: [5, 6]}"),
        ("lines: [3, 4] }", "lines: [5, 6] }"),
        ("lines: [3\n   , 4]}", "lines: [5, 6]}"),
    ],
)
def test_a_quote_in_braces_gets_other_lines(tmp_path: Path, text: str, wanted: str) -> None:
    top = "{verdict: clean, summary: a, auditor: b, quotes: [{file: a, text: b, %s]}"
    path = held(tmp_path, top % text)
    set_lines(path, 0, (5, 6))
    assert path.read_text() == top % wanted


def test_an_event_is_replaced_by_another(tmp_path: Path) -> None:
    before = WRITTEN.replace("lines: [3, 4]", "event: L12-1")
    path = held(tmp_path, before)
    assert set_event(path, 0, "a2-L7").quotes[0].event == "a2-L7"
    assert changed(path, before)[1] == ["    event: a2-L7   # the loop"]


def test_a_quote_without_lines_gets_none(tmp_path: Path) -> None:
    before = WRITTEN.replace("lines: [3, 4]", "event: L12-1")
    path = held(tmp_path, before)
    with pytest.raises(InvalidFileError, match=r"audit\.yaml.*quotes\[0\] has no lines"):
        set_lines(path, 0, (1,))
    assert path.read_text() == before


def test_a_quote_is_added_below_the_others(tmp_path: Path) -> None:
    path = held(tmp_path)
    assert add_quote(path, QUOTE).quotes[2] == QUOTE
    lines = path.read_text().splitlines()
    assert changed(path)[0] == []
    at = lines.index("  # no more")
    assert lines[at - 5 : at] == [
        '    text: "PASS"',
        "  - file: solution.py",
        "    lines: [1]",
        "    label: start",
        "    text: import torch",
    ]


@pytest.mark.parametrize(
    "quotes",
    ["", "quotes: []\n", "quotes: []  # none yet\n", "quotes:\n- {file: a, lines: [1], text: b}\n",
     "quotes: [\n  ]\n\n# so far\n"],
)  # fmt: skip
@pytest.mark.parametrize("after", ["", "auditor: me\n", "auditor: me"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_first_quote_is_added(tmp_path: Path, quotes: str, after: str, ends: str) -> None:
    top = "verdict: clean\nsummary: a\n" + ("" if after else "auditor: me\n")
    before = (top + quotes + after).replace("\n", ends)
    path = held(tmp_path, before)
    read = yaml_record(path, Audit)
    assert add_quote(path, QUOTE).quotes == (*read.quotes, QUOTE)
    assert yaml_record(path, Audit).quotes == (*read.quotes, QUOTE)
    text = path.read_bytes().decode()
    assert text.count("\n") == text.count(ends)
    assert before.count("#") == text.count("#")


def test_a_list_in_brackets_is_left_to_its_writer(tmp_path: Path) -> None:
    before = "verdict: clean\nsummary: a\nauditor: b\nquotes: [{file: a, lines: [1], text: b}]\n"
    path = held(tmp_path, before)
    with pytest.raises(
        InvalidFileError, match="quotes stands in brackets; write each item"
    ) as told:
        add_quote(path, QUOTE)
    assert [(one.path, one.line) for one in told.value.errors] == [(path, 4)]
    assert path.read_text() == before


def test_a_file_in_braces_is_left_to_its_writer(tmp_path: Path) -> None:
    before = '# by hand\n{"verdict": "clean", "summary": "a", "auditor": "b"}'
    path = held(tmp_path, before)
    with pytest.raises(
        InvalidFileError, match="stands in braces; write each key on a line"
    ) as told:
        add_quote(path, QUOTE)
    assert [(one.path, one.line) for one in told.value.errors] == [(path, 2)]
    assert path.read_text() == before


def test_an_amended_verdict_keeps_what_it_replaces(tmp_path: Path) -> None:
    path = held(tmp_path)
    audit = amend(
        path,
        {
            "verdict": Verdict.BUG,
            "summary": "Its timer ran. " * 12 + "So the figure is too low by half.",
            "effect": Effect.DOES_NOT_COUNT,
            "provenance": Provenance.OWN,
            "date": DAY,
            "implication": "",
        },
        replaced=DAY,
        by="somebody",
        why="The clock: it was throttled.\nSee the log.",
    )
    assert (audit.verdict, audit.effect, audit.implication) == (
        Verdict.BUG, Effect.DOES_NOT_COUNT, "",
    )  # fmt: skip
    (earlier,) = audit.history
    assert (earlier.verdict, earlier.auditor, earlier.date) == (Verdict.INTERESTING, "me", None)
    assert earlier.summary == "It keeps the weights in shared memory.\n"
    assert earlier.why == "The clock: it was throttled.\nSee the log."
    assert yaml_record(path, Audit) == audit
    text = path.read_text()
    assert "verdict: bug   # so far\n" in text
    assert "summary: >-  # for the board\n" in text
    assert "implication" not in text
    assert "mood: good\n" in text
    again = amend(path, {"verdict": Verdict.CLEAN}, replaced=DAY, by="me", why="no")
    assert [one.verdict for one in again.history] == [Verdict.INTERESTING, Verdict.BUG]


def test_only_what_a_verdict_says_can_be_amended(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no key that can be amended: quotes, run_id"):
        amend(held(tmp_path), {"quotes": (), "run_id": "x"}, replaced=DAY, by="me", why="no")


@pytest.mark.parametrize("text", ["- a\n", "verdict: clean\nverdict: bug\n", "verdict: clean\n"])
def test_a_file_that_cannot_be_read_is_not_changed(tmp_path: Path, text: str) -> None:
    path = held(tmp_path, text)
    with pytest.raises(InvalidFileError, match=r"audit\.yaml"):
        add_quote(path, QUOTE)
    with pytest.raises(InvalidFileError, match=r"audit\.yaml"):
        set_lines(path, 0, (1,))
    with pytest.raises(InvalidFileError, match=r"audit\.yaml"):
        amend(path, {"summary": "b"}, replaced=DAY, by="me", why="no")
    assert path.read_text() == text


LINES = st.lists(
    st.text(alphabet="  \t#:-'\"|>[]{},&*!%@`ab\\\u00e9\u2028\x85\x07\U0001f600"), max_size=5
)
PASSAGES = st.one_of(
    LINES.map("\n".join), st.sampled_from(["null", "yes", "12", "~", "", " ", "|"])
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(passage=PASSAGES, label=PASSAGES, summary=PASSAGES, tail=st.sampled_from(["", "\n", "\n\n"]))
def test_any_text_comes_back_as_it_was(
    tmp_path: Path, passage: str, label: str, summary: str, tail: str
) -> None:
    quote = Quote(file="a b/ü: #.py", lines=(1, 2), label=label, text=f"{passage}{tail}")
    path = held(tmp_path, WRITTEN)
    assert add_quote(path, quote).quotes[-1] == quote
    audit = amend(
        path, {"summary": f"a{summary}{tail}"}, replaced=DAY, by="b", why=f"x{passage}{tail}"
    )
    assert yaml_record(path, Audit) == audit
    assert audit.summary == f"a{summary}{tail}"
    assert {row for row in WRITTEN.splitlines() if "#" in row} - set(
        path.read_text().split("\n")
    ) <= {"summary: >  # for the board"}
    path.write_text(audit_text(audit))
    assert yaml_record(path, Audit) == audit
