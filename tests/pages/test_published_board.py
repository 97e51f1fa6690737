"""The board that others published on 2026-05-08, imported and built, cell by cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.importers.kernelbench_hard import import_board
from kbsite.model.config import Config
from kbsite.pages.facts import score
from kbsite.store.settings import Settings

SOURCE = Path(__file__).parents[3] / "shared" / "upstream" / "hard"
CELLS = 117

pytestmark = pytest.mark.skipif(
    not SOURCE.is_dir(), reason="the published board does not lie beside this checkout"
)


@pytest.fixture(scope="module", name="published")
def _published() -> dict[str, Any]:
    held: dict[str, Any] = json.loads((SOURCE / "leaderboard.json").read_text("utf-8"))
    return held


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("published")
    import_board(SOURCE, home / "runs" / "hard")
    built = build(Settings(Config(), home / "runs", home / "problems", home / "site"))

    assert built.findings == ()
    return built.out


@pytest.fixture(scope="module", name="cells")
def _cells(site: Path) -> dict[str, Any]:
    """The board's cells by the run that they lead to."""
    tree = html5lib.parse(
        (site / "hard/index.html").read_text("utf-8"), namespaceHTMLElements=False
    )
    found = {}
    for body in tree.iter("tbody"):
        if body.get("class") == "contenders":
            for cell in body.find("tr").iter("td"):
                link = cell.find("a")
                if link is not None:
                    found[link.get("href").split("/")[-2]] = cell
    return found


def test_every_published_cell_stands_on_the_board_with_its_score(
    published: dict[str, Any], cells: dict[str, Any]
) -> None:
    results = [result for row in published["models"] for result in row["results"].values()]

    assert len(results) == len(cells) == CELLS
    for result in results:
        told = "".join(cells[result["run_id"]].find("a").itertext())
        shown = told.removesuffix(" does not count").split()
        if result["peak_fraction"] is not None:
            assert shown == [score(result["peak_fraction"])]
        elif result["correct"]:
            assert shown == ["✓", "passed"]
        else:
            assert shown[1] in ("wrong", "forbidden") if result["has_solution"] else "none"


def test_every_cell_leads_to_a_page_that_says_there_is_no_transcript(
    site: Path, cells: dict[str, Any]
) -> None:
    for run in cells:
        page = (site / "runs" / run / "index.html").read_text("utf-8")

        assert "There is no transcript of this run." in page
        assert "imported from" in page


def test_what_the_budget_cut_is_marked(published: dict[str, Any], cells: dict[str, Any]) -> None:
    results = [result for row in published["models"] for result in row["results"].values()]
    cut = {result["run_id"] for result in results if result["elapsed_seconds"] >= 2700}

    assert {run for run, cell in cells.items() if "✂" in "".join(cell.itertext())} == cut


def test_every_published_verdict_can_be_read_on_the_board(site: Path) -> None:
    board = (site / "hard/index.html").read_text("utf-8")
    notes = sorted((SOURCE / "annotations").glob("*.yaml"))

    assert board.count('└</span> <span class="verdict') == len(notes)


def test_the_two_bugs_are_struck_and_no_score_and_no_place_hangs_on_them(
    published: dict[str, Any], cells: dict[str, Any]
) -> None:
    struck = {run for run, cell in cells.items() if cell.find(".//s") is not None}
    results = [result for row in published["models"] for result in row["results"].values()]
    bugs = [path.stem for path in (SOURCE / "annotations").glob("*.yaml") if "bug" in _of(path)]

    assert struck == set(bugs)
    assert len(struck) == 2
    assert not any(result["correct"] for result in results if result["run_id"] in struck)


def _of(annotation: Path) -> str:
    """The line of an annotation that judges."""
    lines = annotation.read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith("verdict:"))


def test_the_line_on_audits_counts_what_is_due(site: Path) -> None:
    board = (site / "hard/index.html").read_text("utf-8")

    assert "32 of 53 from 10 % up, 7 of 9 best of their problem" in board


def test_every_verdict_that_a_rubric_leaks_stands_in_a_card_of_its_problem(site: Path) -> None:
    board = (site / "hard/index.html").read_text("utf-8")
    notes = (SOURCE / "annotations").glob("*.yaml")
    named = [path.stem for path in notes if "rubric_leak" in _of(path)]
    section = board.partition('id="leaks"')[2].partition('id="standings"')[0]

    assert len(named) > 5
    assert all(f"runs/{run}/index.html" in section for run in named)


def test_floors_stand_in_the_unit_of_the_grid(site: Path) -> None:
    board = (site / "hard/index.html").read_text("utf-8")

    for kind in ("library", "compiled", "eager"):
        assert f"{kind} floor" in board
    assert " ms</span>" not in board
