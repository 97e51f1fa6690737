"""Floors of the published board: scores only where the published figures carry them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import KbsiteError
from kbsite.importers.hard_board import LEADERBOARD, read_leaderboard
from kbsite.importers.hard_floors import BASELINES, COMPUTE, MEMORY, Found, read_floors
from kbsite.importers.kernelbench_hard import import_board
from kbsite.model.floor import FloorKind
from kbsite.store.runs import read_floors as stored_floors
from tests.importers.published_board import ATTENTION, GEMM, baselines, published

Publish = Callable[..., Path]


def floors(source: Path) -> Found:
    return read_floors(source / BASELINES, read_leaderboard(source / LEADERBOARD))


def scores(found: Found) -> dict[tuple[str, FloorKind], float | None]:
    return {(floor.problem, floor.kind): floor.peak_fraction for floor in found.floors}


def test_a_rate_over_its_peak_is_the_score(publish: Publish) -> None:
    found = floors(publish())
    assert found.oddities == []
    assert scores(found) == {
        (GEMM, FloorKind.EAGER): 0.25,
        (GEMM, FloorKind.COMPILED): 0.5,
        (GEMM, FloorKind.LIBRARY): 1.0,
        (ATTENTION, FloorKind.EAGER): 0.1,
        (ATTENTION, FloorKind.COMPILED): 0.2,
        (ATTENTION, FloorKind.LIBRARY): 0.4,
    }
    assert {floor.hardware for floor in found.floors} == {"gpu-x"}
    assert {floor.problem_hash for floor in found.floors} == {None}


def test_every_floor_says_how_it_was_computed(publish: Publish) -> None:
    told = {(floor.problem, floor.kind): floor.source for floor in floors(publish()).floors}
    gemm, attention = told[GEMM, FloorKind.EAGER], told[ATTENTION, FloorKind.LIBRARY]
    assert "eager: 100.0 TFLOPS / 400 TFLOPS, the fp8 peak" in gemm
    assert "sota: 400.0 GB/s / 1000 GB/s, the board's peak bandwidth" in attention
    assert all(BASELINES in source for source in told.values())


def test_floors_are_written_beside_the_runs(publish: Publish, tmp_path: Path) -> None:
    source, out = publish(), tmp_path / "board-x"
    report = import_board(source, out)
    assert stored_floors(out) == tuple(floors(source).floors)
    assert (report.floors, report.floors_scored) == (6, 6)


def changed(problem: str, name: str, **keys: Any) -> dict[str, Any]:
    held = baselines()
    rows = held["problems"][problem]
    rows[name] = {**rows[name], **keys}
    return held


def without_scores(found: Found, problem: str) -> bool:
    return all(
        floor.peak_fraction is None and floor.ms is not None
        for floor in found.floors
        if floor.problem == problem
    )


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_rows_that_did_not_do_the_same_work_give_times_only(
    publish: Publish, factor: float
) -> None:
    found = floors(publish(floors=changed(ATTENTION, "compiled", gbps=200.0 * factor)))
    assert without_scores(found, ATTENTION)
    assert not without_scores(found, GEMM)
    (oddity,) = found.oddities
    assert "did not do the same work" in oddity.found
    assert oddity.key == f"problems.{ATTENTION}"


def test_rounded_figures_are_no_other_work(publish: Publish) -> None:
    found = floors(publish(floors=changed(ATTENTION, "compiled", gbps=202.0)))
    assert found.oddities == []


@pytest.mark.parametrize(("own", "scored"), [(0.1, True), (0.1004, True), (0.102, False)])
def test_a_published_score_of_the_reference_has_to_agree_to_three_digits(
    publish: Publish, own: float, *, scored: bool
) -> None:
    held = baselines()
    held["problems"][ATTENTION]["_solution_peak_fraction_baseline"] = own
    found = floors(publish(floors=held))
    assert without_scores(found, ATTENTION) is not scored
    assert len(found.oddities) == (0 if scored else 1)


def test_a_problem_whose_peak_is_not_known_gives_times_only(publish: Publish) -> None:
    board, held = published(), baselines()
    board["problems"].append("99_new")
    held["problems"]["99_new"] = held["problems"][GEMM]
    found = floors(publish(board, floors=held))
    assert without_scores(found, "99_new")
    assert "no peak is known" in found.oddities[-1].found
    source = next(floor.source for floor in found.floors if floor.problem == "99_new")
    assert source.endswith("which gives a time but no score")


def test_a_board_without_bandwidth_gives_no_scores_of_memory_problems(publish: Publish) -> None:
    board = published()
    del board["hardware"]["peak_bandwidth_gb_s"]
    found = floors(publish(board))
    assert without_scores(found, ATTENTION)
    assert not without_scores(found, GEMM)


def test_rates_may_be_missing(publish: Publish) -> None:
    held = baselines()
    for row in held["problems"][ATTENTION].values():
        del row["gbps"]
    found = floors(publish(floors=held))
    assert without_scores(found, ATTENTION)
    assert "no row gives gbps" in found.oddities[0].found


def test_times_of_another_machine_give_no_scores(publish: Publish) -> None:
    found = floors(publish(floors={**baselines(), "_hardware": "GPU_Y"}))
    assert without_scores(found, ATTENTION)
    assert without_scores(found, GEMM)
    assert found.oddities[0].key == "_hardware"


def test_a_reference_measured_twice_and_differently_is_named(publish: Publish) -> None:
    found = floors(publish(floors=changed(GEMM, "solution", ms=2.1, tflops=95.3)))
    (oddity,) = found.oddities
    assert oddity.done == "the floor is the eager row"
    assert "2.0 ms as eager and 2.1 ms" in oddity.found


def test_problems_on_one_side_only_are_named(publish: Publish) -> None:
    held = baselines()
    held["problems"]["98_other"] = held["problems"].pop(GEMM)
    found = floors(publish(floors=held))
    assert {floor.problem for floor in found.floors} == {ATTENTION}
    assert [(oddity.key, oddity.done) for oddity in found.oddities] == [
        ("problems.98_other", "left out"),
        (f"problems.{GEMM}", "no floors for it"),
    ]


def test_a_board_may_have_no_baselines(publish: Publish, tmp_path: Path) -> None:
    source = publish()
    (source / BASELINES).unlink()
    report = import_board(source, tmp_path / "board-x")
    assert report.floors == 0
    assert [oddity.found for oddity in report.oddities] == ["missing"]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("fast", "eager"),
        ({"tflops": 1.0}, "ms"),
        ({"ms": "2"}, "eager"),
        ({"ms": 0}, "above 0"),
        ({"ms": -1.0}, "above 0"),
        ({"ms": 1e300}, "above 0"),
    ],
)
def test_malformed_baselines_are_refused_by_file_and_key(
    publish: Publish, value: object, key: str
) -> None:
    held = baselines()
    held["problems"][GEMM]["eager"] = value
    with pytest.raises(KbsiteError) as caught:
        floors(publish(floors=held))
    assert BASELINES in str(caught.value)
    assert f"problems.{GEMM}.eager" in str(caught.value)
    assert key in str(caught.value)


def test_every_problem_has_one_regime() -> None:
    assert not COMPUTE.keys() & MEMORY
    assert len(COMPUTE) + len(MEMORY) == 9
