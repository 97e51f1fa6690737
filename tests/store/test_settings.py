from __future__ import annotations

from pathlib import Path

from tests.conftest import MakeRun, MakeSettings


def test_a_site_of_the_fixtures_is_read(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(settings.runs / "demo")
    assert folder.parent == settings.runs / "demo"
