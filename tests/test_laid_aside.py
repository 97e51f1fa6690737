"""A site is the same, whether transcripts are so large that their steps lie in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite import transcripts
from kbsite.build import build, override
from kbsite.engines import Engine, Here
from kbsite.engines.copies import Copies
from kbsite.single_file import write
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

CAPTURES = Path(__file__).parent / "harnesses" / "captures"


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Settings:
    """A run for each captured session."""
    for folder in sorted(CAPTURES.glob("*/*/")):
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        make_run(
            tmp_path / "runs" / "demo", harness=folder.parent.name, model=folder.name,
            transcript=files,
        )  # fmt: skip
    return make_settings(tmp_path)


@pytest.mark.parametrize("engine", [Here(), Copies(2)])
def test_a_site_is_the_same(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    plain = build(settings)
    monkeypatch.setattr(transcripts, "LARGE", 0)
    laid = build(override(settings, None, None, tmp_path / "laid"), engine=engine)

    assert laid.work.parsed == plain.work.parsed > 20
    assert tree(laid.out) == tree(plain.out)


def test_a_run_in_one_file_is_the_same(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = settings.runs.glob("demo/*_claude_quick_*")
    plain, laid = tmp_path / "plain.html", tmp_path / "laid.html"
    write(settings, str(run), plain)
    monkeypatch.setattr(transcripts, "LARGE", 0)
    write(settings, str(run), laid)

    assert laid.read_bytes() == plain.read_bytes()
