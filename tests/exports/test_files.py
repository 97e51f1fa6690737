"""Every run of the site has its exports, and its page links them."""

from __future__ import annotations

import json
from pathlib import Path

from kbsite.build import build
from tests.conftest import MakeRun, MakeSettings
from tests.exports.telling import read_back, tale
from tests.test_build import STREAM


def test_a_run_has_its_exports_beside_its_page(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo", transcript={"stdout.jsonl": STREAM}, audit={})
    folder = build(settings).out / "runs" / run.name
    html = (folder / "index.html").read_text("utf-8")
    text = (folder / "trajectory.json").read_text("utf-8")

    assert f'href="../../runs/{run.name}/trajectory.json"' in html
    assert f'href="../../runs/{run.name}/run.md"' in html
    assert json.loads(text)["extra"]["verdict"] == "clean"
    assert ("message", "assistant", "I look first.") in tale(read_back(text))[""]
    assert "I look first." in (folder / "run.md").read_text("utf-8")


def test_a_run_without_transcript_has_no_trajectory(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo")
    folder = build(settings).out / "runs" / run.name

    assert not (folder / "trajectory.json").exists()
    assert "trajectory.json" not in (folder / "index.html").read_text("utf-8")
    assert "There is no transcript" in (folder / "run.md").read_text("utf-8")
