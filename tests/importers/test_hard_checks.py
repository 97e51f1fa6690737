"""Contradictions within leaderboard.json, one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbsite.importers.hard_board import LEADERBOARD, read_leaderboard
from kbsite.importers.hard_checks import board_oddities
from kbsite.importers.report import Oddity
from tests.importers.published_board import ALPHA_1, ATTENTION, GEMM, cell, published

Publish = Callable[..., Path]


def oddities(source: Path) -> list[Oddity]:
    return list(board_oddities(read_leaderboard(source / LEADERBOARD)))


def of_row(publish: Publish, **keys: Any) -> list[Oddity]:
    board = published()
    board["models"][0].update(keys)
    board["per_problem"] = {}
    return oddities(publish(board))


def of_cell(publish: Publish, problem: str = GEMM, **keys: Any) -> list[Oddity]:
    board = published()
    board["models"][0]["results"][problem].update(keys)
    del board["models"][0]["pass_count"]
    board["per_problem"] = {}
    return oddities(publish(board))


def of_tally(publish: Publish, **keys: Any) -> list[Oddity]:
    board = published()
    board["per_problem"][GEMM].update(keys)
    return oddities(publish(board))


def test_nothing_is_odd_in_a_sound_board(publish: Publish) -> None:
    assert oddities(publish()) == []


@pytest.mark.parametrize("label", ["codex/beta [high]", "claude/alpha [high]", "alpha [high]"])
def test_a_label_of_something_else_is_named(publish: Publish, label: str) -> None:
    (oddity,) = of_row(publish, label=label)
    assert "is not of 'codex/alpha'" in oddity.found
    assert oddity.key == "models[0]"
    assert oddity.line is not None


def test_an_effort_that_the_label_hides_is_named(publish: Publish) -> None:
    (oddity,) = of_row(publish, label="codex/alpha")
    assert "does not tell the effort 'high'" in oddity.found


@pytest.mark.parametrize(
    ("label", "effort", "variant"),
    [
        ("codex/alpha", "", None),
        ("codex/alpha [high]", "high", None),
        ("codex/alpha [2026-05-08]", "", "2026-05-08"),
        ("codex/alpha [high] [rerun] [b]", "high", "rerun b"),
        ("codex/alpha []", "", None),
    ],
)
def test_the_brackets_of_a_label(
    publish: Publish, label: str, effort: str, variant: str | None
) -> None:
    board = published()
    board["models"][0].update(label=label, effort=effort)
    row = read_leaderboard(publish(board) / LEADERBOARD).rows[0]
    assert (row.name, row.variant) == ("codex/alpha", variant)


def test_a_contender_with_two_rows_is_named(publish: Publish) -> None:
    board = published()
    run_id = "20260508_000000_codex_alpha_01_fp8_gemm"
    again = {**board["models"][0], "results": {GEMM: cell(run_id, 0.1)}}
    again |= {"pass_count": 1, "total_runs": 1}
    board["models"].append(again)
    board["per_problem"] = {}
    twice, missing = oddities(publish(board))
    assert twice.done == "its runs are further attempts"
    assert missing.found == f"codex/alpha [high] has no run on {ATTENTION}"


@pytest.mark.parametrize("key", ["pass_count", "total_runs"])
def test_counts_that_the_cells_do_not_make_are_named(publish: Publish, key: str) -> None:
    (oddity,) = of_row(publish, **{key: 7})
    assert oddity.key == f"models[0].{key}"
    assert "says 7, its cells make" in oddity.found


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({"peak_fraction": None}, "passed without a score"),
        ({"has_solution": False}, "passed without a solution"),
        ({"correct": False}, "a score of 0.5 that did not pass"),
        ({"peak_fraction": 1.2}, "a score of 1.2, above the ceiling"),
        ({"elapsed_seconds": 59}, "over after 59 s"),
        ({"run_id": "20260101_000000_claude_alpha_01_fp8_gemm"}, "names another harness"),
        ({"run_id": "20260101_000000_codex_alpha_02_other"}, "names another harness or problem"),
    ],
)
def test_odd_cells_are_named_with_line_and_key(
    publish: Publish, keys: dict[str, Any], found: str
) -> None:
    (oddity,) = of_cell(publish, **keys)
    assert found in oddity.found
    assert oddity.key == f"models[0].results.{GEMM}"
    run_id = keys.get("run_id", ALPHA_1)
    text = (publish(None) / LEADERBOARD).read_text("utf-8").splitlines()
    assert oddity.line is not None
    assert '"run_id"' in text[oddity.line - 1]
    assert run_id.startswith("2026")


def test_a_session_of_a_minute_is_long_enough(publish: Publish) -> None:
    assert of_cell(publish, elapsed_seconds=60) == []


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"n_attempted": 3}, "n_attempted"),
        ({"n_passed": 1}, "n_passed"),
        ({"best_peak_fraction": 0.6}, "best_peak_fraction"),
        ({"best_model": "opencode/lab/beta"}, "best_model"),
        ({"ranked_passes": []}, "ranked_passes"),
        ({"ranked_passes": [{"model": "codex/alpha [high]", "peak_fraction": 0.5}] * 2},
         "ranked_passes"),
    ],
)  # fmt: skip
def test_figures_of_a_problem_that_the_cells_do_not_make_are_named(
    publish: Publish, keys: dict[str, Any], key: str
) -> None:
    (oddity,) = of_tally(publish, **keys)
    assert oddity.key == f"per_problem.{GEMM}.{key}"


def test_a_ranking_is_short_of_the_passes_without_a_score(publish: Publish) -> None:
    board = published()
    board["models"][1]["results"][GEMM]["peak_fraction"] = None
    del board["per_problem"][GEMM]["ranked_passes"][1]
    without, ranking = oddities(publish(board))
    assert "passed without a score" in without.found
    assert ranking.found == "ranks 1 run of 2 that passed: the others have no score"


def test_figures_that_are_not_given_are_not_odd(publish: Publish) -> None:
    board = published()
    ranked = board["per_problem"][GEMM]["ranked_passes"]
    board["per_problem"] = {GEMM: {"ranked_passes": ranked}}
    assert oddities(publish(board)) == []
