"""What stands at the address of a run whose run.json cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.linting import lint
from kbsite.model.finding import Severity
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.verifying.published import errors

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    made = make_settings(tmp_path, problems=[])
    for model in ("whole", "torn", "worded", "bare"):
        make_run(made.runs / "demo", model=model)
    (_folder(made, "torn") / "run.json").write_text('{"format": 1,\n')
    held = json.loads((_folder(made, "worded") / "run.json").read_text())
    (_folder(made, "worded") / "run.json").write_text(json.dumps({**held, "harness": HOSTILE}))
    (_folder(made, "bare") / "run.json").unlink()
    return made


def _folder(settings: Settings, model: str) -> Path:
    return next((settings.runs / "demo").glob(f"*_{model}_*"))


def test_its_page_says_that_it_is_left_out_and_why(settings: Settings) -> None:
    built = build(settings)
    pages = {
        model: (built.out / "runs" / _folder(settings, model).name / "index.html").read_text()
        for model in ("torn", "worded", "bare")
    }

    for page in pages.values():
        assert "This run is left out: its run.json cannot be used." in page
        assert HOSTILE not in page
        assert str(settings.runs) not in page
    assert "run.json:2" in pages["torn"]
    assert "harness: expected at most 200 letters" in pages["worded"]
    assert "&lt;img" in pages["worded"]
    whole = built.out / "runs" / _folder(settings, "whole").name / "index.html"
    assert "left out" not in whole.read_text()


def test_the_list_of_runs_leads_to_it_and_nothing_is_wrong_with_the_site(
    settings: Settings,
) -> None:
    out = build(settings).out
    name, listed = _folder(settings, "torn").name, (out / "runs/index.html").read_text()

    assert f'<a href="../runs/{name}/index.html">its page</a>' in listed
    assert [one for one in lint(out) if one.severity is Severity.ERROR] == []
    assert errors(out) == []


def test_the_run_stands_there_once_it_is_mended_and_goes_with_its_folder(
    settings: Settings,
) -> None:
    torn, whole = _folder(settings, "torn"), _folder(settings, "whole")
    page = build(settings).out / "runs" / torn.name / "index.html"
    held = json.loads((whole / "run.json").read_text())
    (torn / "run.json").write_text(json.dumps({**held, "id": torn.name, "model": "torn"}))
    build(settings)
    assert "left out" not in page.read_text()

    shutil.rmtree(torn)
    build(settings)
    assert not page.exists()


def test_a_run_that_is_whole_keeps_its_page_from_a_torn_one_of_its_name(
    settings: Settings, make_run: MakeRun
) -> None:
    whole = _folder(settings, "whole")
    make_run(settings.runs / "other", model="x", run_id=whole.name.upper())
    (settings.runs / "other" / whole.name.upper() / "run.json").write_text("{")
    out = build(settings).out

    called = [path.name for path in out.glob("runs/*") if path.name.upper() == whole.name.upper()]
    assert called == [whole.name]
    assert "left out" not in (out / "runs" / whole.name / "index.html").read_text()
