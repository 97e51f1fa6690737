"""Published notes: which are read, which are mended, and what is left out of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kbsite.importers.hard_notes import AUDITORS, Note, read_notes
from kbsite.model.audit import Audit, Quote, Verdict
from kbsite.store.audits import audit_text
from kbsite.store.records import yaml_record
from tests.importers.published_board import ALPHA_1, BROKEN, NOTE

Publish = Callable[..., Path]


def only(source: Path) -> Note:
    (note,), lost = read_notes(source)
    assert lost == []
    return note


def noted(publish: Publish, **keys: Any) -> Note:
    return only(publish(notes={ALPHA_1: {**NOTE, **keys}}))


def mended(publish: Publish, text: str) -> Note:
    return only(publish(notes={"broken": text}))


def test_a_sound_note_is_read_whole(publish: Publish) -> None:
    note = noted(publish)
    assert note.oddities == ()
    assert note.refused == 0
    assert note.audit == Audit(
        verdict=Verdict.RUBRIC_LEAK,
        summary="It takes a way round.",
        quotes=(Quote(file="solution.py", lines=(3, 4), label="The way", text="a = 1\nb = 2\n"),),
        implication="The rubric has a hole.",
        auditor=AUDITORS,
        origin=f"annotations/{ALPHA_1}.yaml of the published KernelBench Hard board",
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_known(publish: Publish, verdict: Verdict) -> None:
    assert noted(publish, verdict=verdict.value).audit.verdict is verdict


@pytest.mark.parametrize(
    ("auditor", "named"),
    [
        ({"model": "m-1", "effort": "high"}, "m-1 high"),
        ({"model": "m-1", "effort": ""}, "m-1"),
        ({"model": ["m-1"]}, AUDITORS),
        ({}, AUDITORS),
        ("A. Reader", "A. Reader"),
        (" ", AUDITORS),
        (None, AUDITORS),
    ],
)
def test_the_auditor_is_who_the_note_names(publish: Publish, auditor: object, named: str) -> None:
    assert noted(publish, auditor=auditor).audit.auditor == named


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"lines": [0], "text": "(pattern not found in solution.py)"}, "was not found"),
        ({"lines": [3], "text": "(pattern not found in solution.py)"}, "was not found"),
        ({"lines": [0]}, "counted from 1"),
        ({"lines": [0, 3]}, "counted from 1"),
        ({"lines": [-2, 3]}, "counted from 1"),
        ({"lines": [4, 3]}, "counted from 1"),
        ({"lines": []}, "counted from 1"),
        ({"lines": [1, 2, 3]}, "counted from 1"),
        ({"lines": "3-4"}, "no quote"),
        ({"lines": [1.5]}, "no quote"),
        ({"text": 3}, "no quote"),
        ({"text": "  \n"}, "an empty passage"),
        ({"file": "/etc/passwd"}, "outside the run"),
        ({"file": "transcript/../../x"}, "outside the run"),
        ({"file": "..\\x"}, "outside the run"),
    ],
)
def test_quotes_that_cannot_be_right_are_left_out(
    publish: Publish, keys: dict[str, Any], reason: str
) -> None:
    (quote,) = NOTE["quotes"]
    note = noted(publish, quotes=[quote, {**quote, **keys}])
    assert len(note.audit.quotes) == 1
    assert note.refused == 1
    (oddity,) = note.oddities
    assert reason in oddity.found
    assert oddity.key == "quotes[1]"
    assert oddity.line is not None
    assert "- file" in note.text.splitlines()[oddity.line - 1]


@pytest.mark.parametrize("gone", ["file", "lines", "text"])
def test_a_quote_needs_file_lines_and_text(publish: Publish, gone: str) -> None:
    (quote,) = NOTE["quotes"]
    note = noted(publish, quotes=[{k: v for k, v in quote.items() if k != gone}])
    assert note.audit.quotes == ()
    assert gone in note.oddities[0].found


def test_a_clean_note_needs_no_quotes_and_no_implication(publish: Publish) -> None:
    note = noted(publish, verdict="clean", quotes=None, implication=None)
    assert (note.audit.quotes, note.audit.implication, note.oddities) == ((), "", ())


def test_another_note_without_implication_is_named(publish: Publish) -> None:
    note = noted(publish, implication=None)
    assert [oddity.key for oddity in note.oddities] == ["implication"]


def test_a_summary_that_is_too_long_is_kept_and_named(publish: Publish) -> None:
    note = noted(publish, summary="word " * 61)
    assert len(note.audit.summary.split()) == 61
    assert [oddity.key for oddity in note.oddities] == ["summary"]
    assert noted(publish, summary="word " * 60).oddities == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "just words",
        "verdict: clean",
        "run_id: x\nsummary: y\nverdict: perfect",
        "run_id: 7\nsummary: y\nverdict: clean",
        "run_id: x\nsummary: 'no end\nverdict: clean",
        "run_id: x\nsummary: one\nsummary: two\nverdict: clean",
        "run_id: x\nsummary: &a y\nverdict: clean",
        "run_id: x\nsummary: !!str y\nverdict: clean",
        "a: &a [1]\nb: *a",
    ],
)
def test_a_note_without_a_verdict_to_be_had_is_left_out(publish: Publish, text: str) -> None:
    notes, lost = read_notes(publish(notes={"broken": text}))
    assert notes == []
    assert lost[-1].done == "note left out"
    assert {oddity.file for oddity in lost} == {"annotations/broken.yaml"}


def test_a_note_that_is_no_text_is_left_out(publish: Publish) -> None:
    source = publish()
    (source / "annotations" / "bytes.yaml").write_bytes(b"run_id: \xff\n")
    (source / "annotations" / "link.yaml").symlink_to("/dev/null")
    (source / "annotations" / "folder.yaml").mkdir()
    notes, lost = read_notes(source)
    assert notes == []
    assert len([oddity for oddity in lost if oddity.done == "note left out"]) == 3


def test_a_board_may_have_no_notes(tmp_path: Path) -> None:
    assert read_notes(tmp_path) == ([], [])


def test_the_pieces_of_a_broken_note_are_kept_as_they_stand(publish: Publish) -> None:
    note = mended(publish, BROKEN)
    assert note.audit.verdict is Verdict.BUG
    assert note.audit.summary == "The gate stopped it for a word."
    assert note.audit.implication == "The gate reads words."
    (quote,) = note.audit.quotes
    assert quote == Quote(
        file="check.log", lines=(1,), label="What the gate said",
        text="FAIL: forbidden op used: word",
    )  # fmt: skip
    assert note.forbidden == quote.text
    assert note.refused == 1
    assert [(oddity.line, oddity.key) for oddity in note.oddities] == [
        (19, None),
        (12, "quotes[0]"),
    ]


def test_nothing_is_made_of_a_broken_passage(publish: Publish) -> None:
    note = mended(publish, BROKEN)
    assert "forward" not in audit_text(note.audit)
    assert "class Model" not in audit_text(note.audit)


def test_a_wrong_value_costs_its_key_only(publish: Publish) -> None:
    note = noted(publish, peak_fraction="about half", implication=["a list"])
    assert note.raw.peak_fraction is None
    assert note.audit.implication == ""
    assert len(note.audit.quotes) == 1
    assert {oddity.key for oddity in note.oddities} == {"peak_fraction", "implication"}


def test_a_key_that_stands_twice_is_left_out(publish: Publish) -> None:
    note = mended(publish, BROKEN + "\nimplication: Something else.\n")
    assert note.audit.implication == ""
    assert [o.line for o in note.oddities if o.found == "stands there twice"] == [26, 29]


def test_quotes_that_are_no_list_are_lost(publish: Publish) -> None:
    text = "run_id: x\nverdict: clean\nsummary: y\nquotes:\n  file: [\n"
    note = mended(publish, text)
    assert note.audit.quotes == ()
    assert (4, "quotes") in [(oddity.line, oddity.key) for oddity in note.oddities]


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(summary=WORDS, label=WORDS, text=WORDS, implication=WORDS)
@example(summary="0E0", label="1e3", text="~", implication="1e-9")
def test_every_audit_reads_back_as_it_was(
    tmp_path: Path, summary: str, label: str, text: str, implication: str
) -> None:
    quote = Quote(file="solution.py", lines=(1, 2), label=label, text=text)
    audit = Audit(
        verdict=Verdict.BUG, summary=summary, quotes=(quote, quote), implication=implication,
        auditor="A. Reader",
    )  # fmt: skip
    path = tmp_path / "audit.yaml"
    path.write_bytes(audit_text(audit).encode())
    told = audit if summary else replace(audit, summary="-")
    if not summary:
        path.write_bytes(audit_text(told).encode())
    assert yaml_record(path, Audit) == told


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cut=st.integers(0, len(BROKEN)), extra=st.text(max_size=20))
def test_no_damage_to_a_note_stops_the_import(publish: Publish, cut: int, extra: str) -> None:
    whole = BROKEN[:cut] + extra.encode("utf-8", "replace").decode() + BROKEN[cut:]
    notes, lost = read_notes(publish(notes={"broken": whole}))
    for note in notes:
        for quote in note.audit.quotes:
            assert quote.lines[0] >= 1
    assert notes or lost
