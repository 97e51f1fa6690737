"""No board takes a place of the site's own, and `kbsite check` says so before a build refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.check import check
from kbsite.errors import InputError
from kbsite.model.finding import Severity
from kbsite.reading import MARKER, RESERVED, read
from kbsite.store.settings import read_settings
from kbsite.unmet import left_out
from tests.conftest import MakeRun, MakeSettings


def test_every_place_that_a_build_fills_itself_is_reserved(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site={"url": "https://bench.example/"})
    make_run(tmp_path / "runs" / "demo")
    built = build(settings)
    there = {path.name for path in built.out.iterdir()}

    assert {"sitemap.xml", "robots.txt"} <= there
    assert there - {"demo", MARKER} <= RESERVED


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-2.xml", "Data", "404.html", "pagefind"])
def test_a_run_that_says_that_its_board_is_a_place_of_the_sites_own_is_told_and_stops_nothing(
    name: str, tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(tmp_path / "runs" / name)
    site = read(settings)

    assert [board.config.id for board in site.boards] == ["demo"]
    assert any(name in finding.message for finding in left_out(site, settings))


def test_a_site_that_would_be_written_over_its_kbsite_yaml_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kbsite.yaml").write_text("title: t\nout: .\n")

    assert "out" in {one.key for one in check([Path("kbsite.yaml")])}


@pytest.mark.parametrize("name", [*sorted(RESERVED), "sitemap-3.xml", "Runs", "", "w" * 201])
def test_a_check_finds_every_board_that_a_build_refuses(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    (tmp_path / "runs" / name).mkdir(parents=True)
    path.write_text(f'title: t\nboards:\n  - id: "{name}"\n    title: A board\n')
    with pytest.raises(InputError, match="cannot be a folder of the site"):
        read(read_settings(path))
    wrong = [one for one in check([path]) if one.severity is Severity.ERROR]

    assert [(one.path, one.line, one.key) for one in wrong] == [(str(path), 3, "boards[0].id")]
