"""The page that draws all runs says the same without a script, and hands over what it draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.errors import InputError
from kbsite.model.config import BoardConfig, Config
from kbsite.model.run import Contender
from kbsite.pages.explore import FEW, ROWS, Spread
from kbsite.reading import board_configs
from kbsite.store.problems import read_problem
from kbsite.store.settings import read_settings
from tests.conftest import MakeRun, MakeSettings
from tests.pages.test_board_figures import said

HOSTILE = "<script>alert(1)</script>&amp;\u2028</td>"
PRICES = """prices:
  - models: [priced]
    input: 2
    output: 10
    source: https://prices.example/list
    looked_up: 2026-11-21
"""


@pytest.fixture(name="out")
def _out(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    make_settings(tmp_path)
    (tmp_path / "prices.yaml").write_text(PRICES)
    runs = tmp_path / "runs" / "demo"
    made = partial(make_run, problem_hash=read_problem(tmp_path / "problems" / "softmax").hash)
    whole = {"input": 1_000_000, "cache_read": 0, "output": 200_000}
    made(runs, run_id="best", metrics={"peak_fraction": 0.8}, cost_usd=0.5, audit={})
    made(runs, run_id="middle", metrics={"peak_fraction": 0.2}, model="priced", usage=whole)
    made(runs, run_id="failed", metrics={"status": "wrong"}, usage={}, effort="low")
    made(runs, run_id="else", model=HOSTILE, board="gone", started=None, ended=None)
    return build(read_settings(tmp_path / "kbsite.yaml")).out


def handed(out: Path) -> dict[str, Mapping[str, Any]]:
    text = (out / "explore" / "data.js").read_text("ascii")
    start, end = "window.kbsiteExplored=", ";\n"
    assert text.startswith(start)
    assert text.endswith(end)
    return {row["run"]: row for row in json.loads(text[len(start) : -len(end)])}


def tables(out: Path) -> list[list[list[str]]]:
    """The tables that stand there without a script, cell by cell; the empty one is the chart's."""
    text = (out / "explore" / "index.html").read_text("utf-8")
    page = html5lib.parse(text, namespaceHTMLElements=False)
    read = [
        [[said(cell) for cell in row] for row in table.iter("tr")] for table in page.iter("table")
    ]
    return [table for table in read if table]


@pytest.mark.parametrize(("runs", "opens"), [(FEW, True), (FEW + 1, False)])
def test_figures_of_many_runs_are_folded(
    runs: int, opens: bool, tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, problems=[])
    for number in range(runs):
        make_run(tmp_path / "runs/demo", run_id=f"r{number}", model=f"m{number}")
    text = (build(settings).out / "explore/index.html").read_text("utf-8")
    page = html5lib.parse(text, namespaceHTMLElements=False)
    [held] = (one for one in page.iter("details") if "id" not in one.attrib)

    assert said(held).startswith(f"figures of {runs} runs")
    assert (held.get("open") is not None) is opens


def test_what_is_drawn_is_what_is_on_record(out: Path) -> None:
    rows = handed(out)
    best = {
        "page": "../runs/best/index.html", "run": "best", "contender": "claude · opus-x [max]",
        "model": "opus-x", "harness": "claude", "problem": "softmax", "board": "Demo",
        "verdict": "clean", "status": "passed", "score": 0.8, "time": 1800.0, "output": 20,
        "tokens": 120, "cost": 0.5,
    }  # fmt: skip

    assert rows["best"] == best
    assert (rows["middle"]["cost"], rows["middle"]["estimated"]) == (4.0, "estimate")
    assert rows["middle"]["tokens"] == 1_200_000


def test_what_nobody_knows_is_left_out_and_never_nought(out: Path) -> None:
    rows = handed(out)

    assert not {"score", "output", "tokens", "cost", "estimated"} & set(rows["failed"])
    assert "time" not in rows["else"]
    assert rows["else"]["board"] == "gone"
    assert rows["failed"]["verdict"] == "not audited"


def test_hostile_names_end_no_script_and_start_no_tag(out: Path) -> None:
    text = (out / "explore" / "data.js").read_text("ascii")

    assert handed(out)["else"]["model"].startswith("<script>alert(1)</script>&amp;")
    assert not set("<>&\u2028") & set(text)


def test_the_table_of_runs_stands_there_without_a_script(out: Path) -> None:
    runs = tables(out)[0]

    assert [row[3:] for row in runs] == [
        ["verdict", "time", "output tokens", "all tokens", "cost"],
        ["★ clean", "30:00", "20", "120", "$0.5000"],
        ["–", "–", "20", "120", "–"],
        ["–", "30:00", "200,000", "1,200,000", "$4.00 (estimate)"],
        ["–", "30:00", "–", "–", "–"],
    ]
    assert [row[2][:4] for row in runs[1:]] == [".800", ".420", ".200", "✗ wr"]


def test_the_table_of_spreads_stands_there_without_a_script(out: Path) -> None:
    assert tables(out)[1][1:] == [
        [tables(out)[1][1][0], "1", ".420", ".420", ".420", ".420", ".420"],
        ["claude · opus-x [max]", "1", ".800", ".800", ".800", ".800", ".800"],
        ["claude · priced [max]", "1", ".200", ".200", ".200", ".200", ".200"],
    ]


def test_quarters_are_those_of_the_scores_themselves() -> None:
    contender = Contender("claude", "m")

    assert Spread(contender, [0.0, 1.0, 2.0, 3.0, 4.0]).quarters == (1.0, 2.0, 3.0)
    assert Spread(contender, [1.0, 2.0]).quarters == (1.25, 1.5, 1.75)
    assert Spread(contender, [0.5]).quarters == (0.5, 0.5, 0.5)


def test_every_page_leads_there_also_where_there_are_no_runs(
    out: Path, tmp_path: Path, make_settings: MakeSettings
) -> None:
    for path in (out / "index.html", out / "runs" / "best" / "index.html"):
        assert "explore/index.html" in path.read_text("utf-8")
    empty = build(make_settings(tmp_path / "empty")).out

    assert "explore/index.html" in (empty / "index.html").read_text("utf-8")
    assert "There is no run yet." in (empty / "explore" / "index.html").read_text("utf-8")
    assert tables(empty) == []
    assert handed(empty) == {}


def test_of_many_runs_the_best_stand_in_the_table_and_all_are_drawn(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kbsite.pages.explore.ROWS", 2)
    settings = make_settings(tmp_path)
    for number in range(4):
        make_run(settings.runs / "demo", run_id=f"r{number}", metrics={"peak_fraction": number / 8})
    out = build(settings).out

    assert [row[2][:4] for row in tables(out)[0][1:]] == [".375", ".250"]
    assert len(handed(out)) == 4
    assert "The 2 best" in (out / "explore" / "index.html").read_text("utf-8")
    assert ROWS >= 100


def test_no_board_can_stand_in_its_place() -> None:
    with pytest.raises(InputError, match="explore"):
        board_configs(Config(boards=(BoardConfig(id="explore", title="x"),)), [])
