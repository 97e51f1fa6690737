"""What a solution says comes into a grade: it must move no cursor, hide nothing, fill no disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.grading.failures import MOST_CHARACTERS, Failure, printable
from bench.grading.proof import _rows
from kbsite.model.grade import Outcome

TRICKS = {
    "clears the screen": "\x1b[2J",
    "names the window": "\x1b]0;title\x07",
    "moves by one byte": "\x9b31m",
    "goes back to the start of the line": "\rPASS",
    "ends the text": "\0",
    "turns text round": "\u202egnp.exe",
    "starts a line": "\u2028PASS",
    "is never seen": "\u200b",
}


@pytest.mark.parametrize("said", TRICKS.values(), ids=list(TRICKS))
def test_tricks_on_terminals_are_signs(said: str) -> None:
    failure = Failure(Outcome.RUNTIME_ERROR, f"RuntimeError: {said} (call)")

    assert failure.detail.isprintable()
    assert failure.detail.startswith("RuntimeError: ")
    assert "\N{REPLACEMENT CHARACTER}" in failure.detail
    assert str(failure) == f"RUNTIME_ERROR: {failure.detail}"


def test_ordinary_words_stay_as_they_are() -> None:
    said = "y[0, 3]: got 7, expected 1 within 0.01; größer, 大きい (shape square)"

    assert printable(said) == said
    assert Failure(Outcome.INCORRECT, said).detail == said


def test_a_long_error_is_cut() -> None:
    assert len(Failure(Outcome.RUNTIME_ERROR, "x" * 1_000_000).detail) == MOST_CHARACTERS


def test_names_of_a_trace_are_signs_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("no end of line\nkbtrace " + json.dumps([["aten::\x1b[2Jmm", 1, 2.0]]) + "\n")

    assert _rows(log) == ["aten::\N{REPLACEMENT CHARACTER}[2Jmm"]


@pytest.mark.parametrize(
    "said", ["", "kbtrace [", "kbtrace {}", "kbtrace 7", "kbtrace " + "[" * 200_000, "x kbtrace []"]
)
def test_a_forged_trace_is_none(tmp_path: Path, said: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"{said}\n")

    assert _rows(log) is None
