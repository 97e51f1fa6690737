"""Wherever runs are put in order, one that a verdict takes out is behind those that count."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.store.problems import read_problem
from tests.conftest import MakeRun, MakeSettings
from tests.pages.test_board_figures import said

HACK = {"verdict": "reward_hack", "implication": "It is no number."}


@pytest.fixture(name="out")
def _out(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(tmp_path)
    held = read_problem(tmp_path / "problems" / "softmax").hash
    made = partial(make_run, tmp_path / "runs" / "demo", problem_hash=held)
    made(run_id="hack", model="hack", metrics={"peak_fraction": 0.9}, audit=HACK)
    made(run_id="good", model="good", metrics={"peak_fraction": 0.5}, audit={})
    made(run_id="fair", model="fair", metrics={"peak_fraction": 0.2}, audit={})
    return build(settings).out


def parsed(out: Path, name: str) -> Any:
    return html5lib.parse((out / name).read_text("utf-8"), namespaceHTMLElements=False)


def order(page: Any, label: str) -> list[str]:
    """The words before the bracket in each cell with a label, in order."""
    cells = [cell for cell in page.iter("td") if cell.get("data-label") == label]
    return [said(cell).removeprefix("claude · ").split(" [")[0] for cell in cells]


def test_on_the_problem_s_page_it_is_last_and_struck(out: Path) -> None:
    page = parsed(out, "problems/softmax/index.html")

    assert order(page, "contender") == ["good", "fair", "hack"]
    assert [said(node) for node in page.iter("s")] == [".900±.020"]
    assert "2 of 3 attempted cells passed; 0 missing; 1 taken out by its verdict." in said(
        page.find(".//main")
    )


def test_where_runs_are_explored_it_is_last_struck_and_in_no_spread(out: Path) -> None:
    page = parsed(out, "explore/index.html")
    text = (out / "explore/data.js").read_text("ascii")
    rows = {row["run"]: row for row in json.loads(text.partition("=")[2].rstrip(";\n"))}

    assert order(page, "contender") == ["good", "fair", "hack", "fair", "good"]
    assert [said(node) for node in page.iter("s")] == [".900±.020"]
    assert "Without 1 run that its verdict takes out of the ranking." in said(page.find(".//main"))
    assert {name for name, row in rows.items() if row.get("out")} == {"hack"}


def test_the_best_two_that_are_compared_are_ones_that_count(out: Path) -> None:
    board = (out / "demo/index.html").read_text("utf-8")
    told = (out / "runs/hack/compare.js").read_text("utf-8")

    assert 'href="../compare/index.html?runs=good,fair">best two' in board
    assert ".900 (does not count: see the verdict)" in told
    assert "does not count" not in (out / "runs/good/compare.js").read_text("utf-8")


def test_the_home_page_s_card_names_the_best_that_counts(out: Path) -> None:
    [card] = [node for node in parsed(out, "index.html").iter("a") if node.get("class") == "card"]

    assert "best .500" in said(card)
    assert "audited 3 of 3 from 10 % up · 1 hack" in said(card)


def test_the_list_of_runs_strikes_it_too(out: Path) -> None:
    assert [said(node) for node in parsed(out, "runs/index.html").iter("s")] == [".900±.020"]
