"""Floors that were graded as runs stand on boards as floors, and count nowhere as anybody's run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.auditing.tallies import tallies
from kbsite.build import build
from kbsite.check import check
from kbsite.model.board import Board
from kbsite.model.floor import FloorKind
from kbsite.pages.home import principles
from kbsite.pages.page import Site
from kbsite.reading import lookout_of, read
from kbsite.single_file import write
from kbsite.store.problems import read_problem
from kbsite.store.settings import Settings
from tests.conftest import MakeFloors, MakeRun, MakeSettings

FLOOR: dict[str, Any] = {
    "harness": "floor", "effort": None, "budget_seconds": None, "harness_version": None,
    "usage": {}, "usage_source": None,
}  # fmt: skip


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path)


@pytest.fixture(name="floor")
def _floor(settings: Settings, make_run: MakeRun) -> Any:
    """Makes a floor's run and returns its id."""
    problem_hash = read_problem(settings.problems / "softmax").hash

    def make(kind: str = "library", peak: float = 0.7, **told: Any) -> str:
        passed = {"peak_fraction": peak, "interval": [peak - 0.01, peak + 0.01], "shapes": []}
        held = {"metrics": passed, "problem_hash": problem_hash, **FLOOR, **told}
        return make_run(settings.runs / "floors", model=kind, **held).name

    return make


@pytest.fixture(name="contender")
def _contender(settings: Settings, make_run: MakeRun) -> str:
    problem_hash = read_problem(settings.problems / "softmax").hash
    return make_run(settings.runs / "demo", problem_hash=problem_hash).name


def board(site: Site) -> Board:
    (only,) = site.boards
    return only


def floors(site: Site) -> dict[FloorKind, tuple[float | None, str | None]]:
    """Figure and run of each floor of the board's only problem."""
    rows = {row.kind: row.floors[0] for row in board(site).floors}
    return {kind: (one.peak_fraction, one.run) for kind, one in rows.items() if one}


def test_floor_runs_are_floor_rows(settings: Settings, contender: str, floor: Any) -> None:
    library, eager = floor("library", 0.7), floor("eager", 0.3)
    site = read(settings)

    assert floors(site) == {FloorKind.LIBRARY: (0.7, library), FloorKind.EAGER: (0.3, eager)}
    assert [cell.shown.run.id for _, _, cell in board(site).cells] == [contender]
    assert {row.contender.harness for row in board(site).rows} == {"claude"}


def test_of_several_of_a_kind_the_last_that_passed_counts(
    settings: Settings, contender: str, floor: Any
) -> None:
    assert contender
    floor(peak=0.5)
    last = floor(peak=0.6)
    floor(metrics={"status": "wrong"})

    assert floors(read(settings)) == {FloorKind.LIBRARY: (0.6, last)}


@pytest.mark.parametrize("told", [{"hardware": "gpu-b"}, {"problem_hash": "0" * 64}])
def test_floors_of_other_hardware_or_another_version_of_the_problem_are_left_out(
    settings: Settings, contender: str, floor: Any, told: dict[str, Any]
) -> None:
    assert contender
    floor(**told)

    assert floors(read(settings)) == {}


def test_a_graded_floor_takes_the_place_of_one_that_is_only_told(
    settings: Settings, contender: str, floor: Any, make_floors: MakeFloors
) -> None:
    assert contender
    told = {"kind": "library", "problem": "softmax", "peak_fraction": 0.9}
    make_floors(settings.runs / "demo", told, {**told, "kind": "compiled"})
    graded = floor("library", 0.6)

    assert floors(read(settings)) == {
        FloorKind.LIBRARY: (0.6, graded), FloorKind.COMPILED: (0.9, None),
    }  # fmt: skip


def test_floors_count_nowhere_as_runs(settings: Settings, contender: str, floor: Any) -> None:
    """Boards, audits that are due, home, /runs/ and /explore/: the same with floors and without."""
    without = _counted(settings)
    floor("library", 0.99)
    floor("compiled", 0.98)

    assert _counted(settings) == without
    assert without["runs"] == [contender]


def _counted(settings: Settings) -> dict[str, object]:
    site = read(settings, lookout_of(settings))
    out = build(settings).out
    explored = (out / "explore/data.js").read_text("utf-8")
    home = html5lib.parse((out / "index.html").read_text("utf-8"), namespaceHTMLElements=False)
    return {
        "boards": [one.config.id for one in site.boards],
        "board": (board(site).run_count, board(site).audits_due, board(site).best),
        "rows": [row.contender for row in board(site).rows],
        "runs": [one["id"] for one in json.loads((out / "data/runs.json").read_text())["runs"]],
        "explored": explored.count('"run"'),
        "alarms": dict(site.alarms),
        "tallies": tallies(site),
        "principles": [one.state for one in principles(site) if "sealed" not in one.state],
        "cards": ["".join(e.itertext()) for e in home.iter("a") if e.get("class") == "card"],
    }


def test_a_floor_has_a_page_that_the_board_leads_to(
    settings: Settings, contender: str, floor: Any
) -> None:
    assert contender
    library = floor("library", 0.7)
    out = build(settings).out
    grid = (out / "demo/index.html").read_text("utf-8")
    page = (out / f"runs/{library}/index.html").read_text("utf-8")

    assert f'href="../runs/{library}/index.html"' in grid
    assert "counts nowhere as a contender's run" in page.replace("&#39;", "'")
    assert 'id="solution"' in page
    assert "The CLI ended by itself" not in page
    assert 'id="transcript"' not in page


def test_a_floor_as_one_file(settings: Settings, floor: Any, tmp_path: Path) -> None:
    assert "library floor" in write(settings, floor(), tmp_path / "one.html").path.read_text()


def test_check_knows_floors(settings: Settings, floor: Any) -> None:
    floor("library")
    other = floor("fast")
    found = [f for f in check([], settings) if "/floors/" in f.path]

    assert Counter((f.severity.value, f.key) for f in found) == {("error", "model"): 1}
    assert other in found[0].path
