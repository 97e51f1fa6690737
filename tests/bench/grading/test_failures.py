"""What a solution says comes into a grade: it must move no cursor, hide nothing, fill no disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.grading.failures import MOST_CHARACTERS, Failure, error_of, printable
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


FRAMES = """Traceback (most recent call last):
  File "/box/worker.py", line 302, in serve
    times = self.act(command, shape, slots[:count], payload)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
ERRORS = {
    "one line": ("ValueError: no such block\n", "ValueError: no such block"),
    "advice behind it":
        ("torch.AcceleratorError: CUDA error: an illegal memory access\n"
         "Search for it.\n\nCompile with `TORCH_USE_CUDA_DSA`.\n",
         "torch.AcceleratorError: CUDA error: an illegal memory access Search for it."),
    "lines of source within it":
        ("triton.errors.CompilationError: at 3:4:\n    x = tl.load(y)\n    ^\nno such tensor\n",
         "triton.errors.CompilationError: at 3:4: x = tl.load(y) ^ no such tensor"),
    "nothing": ("", "^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"),
}  # fmt: skip


@pytest.mark.parametrize(("printed", "said"), ERRORS.values(), ids=list(ERRORS))
def test_of_an_error_its_message_is_told(printed: str, said: str) -> None:
    assert error_of(FRAMES + printed) == said


def test_of_an_error_that_another_one_led_to_the_last_message_is_told() -> None:
    first = f"{FRAMES}KeyError: 'x'\n\nDuring handling of the above exception:\n\n"

    assert error_of(f"{first}{FRAMES}RuntimeError: no tile\n\n") == "RuntimeError: no tile"


@pytest.mark.parametrize(("text", "said"), [("", ""), ("\n \n", ""), ("one\ntwo\n\n", "two")])
def test_of_a_text_without_frames_the_last_line_is_told(text: str, said: str) -> None:
    assert error_of(text) == said
