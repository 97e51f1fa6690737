"""A run that its board refuses is verified as well, against the floors of its own hardware."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kbsite.build import build
from kbsite.store.problems import read_problem
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import SAMPLES, TRANSCRIPT, errors, graded


def test_alarms_of_a_refused_run_follow_from_floors_that_no_board_shows(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    held: dict[str, Any] = {
        "problem_hash": read_problem(settings.problems / "softmax").hash,
        "transcript": TRANSCRIPT,
        "files": {"samples.jsonl": SAMPLES},
    }
    for peak in (0.42, 0.5):
        make_run(settings.runs / "demo", metrics=graded(peak), **held)
    floor: dict[str, Any] = {
        "harness": "floor",
        "effort": None,
        "budget_seconds": None,
        "usage": {},
    }
    other = {**held, "hardware": "gpu-b"}
    refused = make_run(settings.runs / "demo", model="elsewhere", metrics=graded(0.2), **other)
    make_run(settings.runs / "floors", model="eager", metrics=graded(0.6), **other, **floor)
    out = build(settings).out
    page = (out / f"runs/{refused.name}/index.html").read_text("utf-8")

    assert "its hardware is gpu-b" in (out / "demo/index.html").read_text("utf-8")
    assert "is below that of the eager reference, 0.6" in page
    assert [one.text for one in errors(out)] == []


def test_a_run_whose_name_is_no_text_leaves_the_others_to_be_verified(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    odd = make_run(settings.runs / "demo", metrics=graded(0.42), transcript=TRANSCRIPT)
    other = make_run(settings.runs / "demo", metrics=graded(0.5), transcript=TRANSCRIPT)
    odd.rename(odd.with_name(os.fsdecode(b"odd\xff")))
    out = build(settings).out
    page = out / "runs" / other.name / "index.html"
    page.write_bytes(page.read_bytes().replace(b"0.5", b"0.9"))

    assert f"runs/{other.name}/index.html" in {one.path for one in errors(out)}


def test_runs_whose_names_are_of_any_letters_are_verified(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    for name in ("名前 🚀", "=cmd", "x" * 240):
        make_run(settings.runs / "demo", run_id=name, metrics={"status": "wrong"})
    out = build(settings).out
    assert [one.text for one in errors(out)] == []

    for name in ("名前 🚀", "=cmd", "x" * 240):
        page = out / "runs" / name / "index.html"
        page.write_bytes(page.read_bytes().replace(b"wrong", b"passed"))
    assert len({one.path for one in errors(out)}) == 3
