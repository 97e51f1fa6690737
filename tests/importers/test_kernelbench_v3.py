"""The published v3 table as run directories: the rules, on a small table of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kbsite.cli import kbsite
from kbsite.errors import UsageError
from kbsite.importers.kernelbench_v3 import (
    COST_SOURCE,
    NO_TRANSCRIPT,
    NOT_COMPILED,
    NOTHING_LEFT,
    WRONG,
    V3Report,
    import_table,
)
from kbsite.importers.v3_boards import HARDWARE
from kbsite.model.config import Config
from kbsite.model.floor import FloorKind
from kbsite.model.price import PriceTable, cost
from kbsite.model.run import Contender
from kbsite.model.status import EndReason, Status
from kbsite.store.manifests import manifest_findings
from kbsite.store.records import yaml_record
from kbsite.store.run_folders import run_folders
from kbsite.store.runs import StoredRun, read_floors, read_run
from tests.importers.v3_csv import BROKEN, FAILED, PASSED, SILENT, table

ID = "20260102_030405_kernelbench-v3_alpha-1_23_softmax"


def imported(tmp_path: Path, *rows: dict[str, Any]) -> tuple[V3Report, dict[str, StoredRun]]:
    report = import_table(table(tmp_path / "results.csv", *rows), tmp_path / "runs")
    return report, {folder.name: read_run(folder) for folder in run_folders(tmp_path / "runs")}


def found(report: V3Report) -> str:
    return "\n".join(oddity.text for oddity in report.oddities)


def test_a_row_becomes_a_whole_run_with_all_that_the_table_tells(tmp_path: Path) -> None:
    _, runs = imported(tmp_path, PASSED)

    assert list(runs) == [ID]
    stored = runs[ID]
    assert stored.folder == tmp_path / "runs" / "v3-h100" / ID
    assert stored.findings == ()
    assert manifest_findings(stored) == []
    run, metrics = stored.run, stored.metrics
    assert (run.board, run.problem, run.hardware) == ("v3-h100", "23_softmax", "h100-sxm")
    assert run.contender == Contender("kernelbench-v3", "Alpha 1", None, None)
    assert (run.started, run.seconds, run.budget_seconds) == (None, None, None)
    assert (run.harness_version, run.end_reason) == (None, EndReason.UNKNOWN)
    assert run.host.gpu == "H100"
    assert run.origin == "imported from line 2 of results.csv, the published KernelBench v3 table"
    assert not run.usage.known
    first, told = run.notes
    assert first == NO_TRANSCRIPT
    for part in (
        "23_Softmax.py (softmax)", "level 1", "batch of 20260102_030405", "7 turns",
        "12,345 tokens, sent and generated together", "precision fp32",
        "a speedup of 0.5 over pytorch_eager, which took 0.25 ms (it ranks nothing here)",
        "/solutions/Alpha 1_softmax.txt",
    ):  # fmt: skip
        assert part in told
    assert (metrics.status, metrics.ms, metrics.detail) == (Status.PASSED, 0.5, None)
    assert metrics.peak_fraction is None


def test_a_cost_is_marked_as_the_estimate_that_it_is(tmp_path: Path) -> None:
    _, runs = imported(tmp_path, PASSED, {**SILENT, "problem": "1_Sum.py"})

    told, silent = (runs[name].run for name in sorted(runs, reverse=True))
    assert (told.cost_usd, told.cost_source) == (0.125, COST_SOURCE)
    assert cost(told, PriceTable()).estimated
    assert (silent.cost_usd, silent.cost_source) == (None, None)
    assert cost(silent, PriceTable()).usd is None


@pytest.mark.parametrize(
    ("row", "status", "detail"),
    [
        (FAILED, Status.WRONG, WRONG),
        (BROKEN, Status.BUILD_FAILED, NOT_COMPILED),
        (SILENT, Status.NO_SOLUTION, NOTHING_LEFT),
        ({**SILENT, "total_tokens": ""}, Status.NO_SOLUTION, NOTHING_LEFT),
        ({**SILENT, "solution_link": "/s"}, Status.BUILD_FAILED, NOT_COMPILED),
    ],
)
def test_what_did_not_pass_says_why_as_far_as_the_table_does(
    tmp_path: Path, row: dict[str, Any], status: Status, detail: str
) -> None:
    _, runs = imported(tmp_path, row)

    metrics = runs[ID].metrics
    assert (metrics.status, metrics.detail, metrics.ms) == (status, detail, None)


def test_a_problem_that_is_called_like_the_second_run_of_another_loses_none(tmp_path: Path) -> None:
    report, runs = imported(tmp_path, PASSED, PASSED, {**PASSED, "problem": "23_Softmax-2.py"})

    ends = sorted(run_id.partition("_alpha-1_")[2] for run_id in runs)
    assert ends == ["23_softmax", "23_softmax-2", "23_softmax-2-2"]
    assert "there already" not in found(report)


def test_rows_of_one_model_on_one_problem_are_attempts_in_order_of_their_batches(
    tmp_path: Path,
) -> None:
    later = {**BROKEN, "run_dir": "run_20260103_000000"}
    report, runs = imported(tmp_path, later, PASSED, PASSED)

    ordered = sorted((stored.run for stored in runs.values()), key=lambda run: run.order)
    assert [run.id for run in ordered] == [
        ID, f"{ID}-2", "20260103_000000_kernelbench-v3_alpha-1_23_softmax",
    ]  # fmt: skip
    assert [(run.origin or "").split()[3] for run in ordered] == ["3", "4", "2"]
    assert len({run.contender for run in ordered}) == 1
    assert "H100: 3 rows of 'Alpha 1' for 1 problems" in found(report)


def test_each_gpu_is_a_board_and_its_deck_stands_in_levels_and_tracks(tmp_path: Path) -> None:
    rows = [
        {**PASSED, "problem": "10_B.py", "level": 2},
        {**PASSED, "problem": "9_A.py", "level": 2},
        {**PASSED, "problem": "gemm_bf16.py"},
        {**PASSED, "problem": "bloom.py"},
        PASSED,
        {**PASSED, "gpu": "RTX3090"},
    ]
    report, _ = imported(tmp_path, *rows)

    path = tmp_path / "kbsite.yaml"
    path.write_text(report.settings())
    boards = yaml_record(path, Config).boards
    assert [(one.id, one.hardware, one.archived) for one in boards] == [
        ("v3-h100", "h100-sxm", True), ("v3-rtx3090", "rtx-3090", True),
    ]  # fmt: skip
    assert [(group.title, group.problems) for group in boards[0].groups] == [
        ("Level 1", ("23_softmax",)), ("Level 2", ("9_a", "10_b")),
        ("Graphics", ("bloom",)), ("Tile-specialized", ("gemm_bf16",)),
    ]  # fmt: skip
    assert boards[0].metric != "peak_fraction"
    told = found(report)
    assert "H100: 1 problems of the track 'Graphics' are filed under a level" in told
    assert "H100: the product is not told; taken for h100-sxm" in told


@pytest.mark.parametrize("device", HARDWARE.values())
def test_what_gpus_are_taken_for_is_known(device: str) -> None:
    assert (Path(__file__).parents[2] / "bench" / "hardware" / f"{device}.yaml").is_file()


def test_a_floor_is_the_median_of_all_times_of_the_same_reference(tmp_path: Path) -> None:
    def timed(ms: float, kind: str, **more: Any) -> dict[str, Any]:
        return {**PASSED, "ref_ms": ms, "baseline_type": kind, **more}

    report, _ = imported(
        tmp_path,
        timed(1.0, "pytorch"), timed(2.0, "pytorch_eager"), timed(9.0, "pytorch_eager"),
        timed(0.7, "torch_compile"), timed(5.0, "magic"), timed(3.0, "pytorch", gpu="B200"),
    )  # fmt: skip

    floors = read_floors(tmp_path / "runs" / "v3-h100")
    assert [(floor.kind, floor.ms, floor.peak_fraction) for floor in floors] == [
        (FloorKind.COMPILED, 0.7, None), (FloorKind.EAGER, 2.0, None),
    ]  # fmt: skip
    only, median = (floor.source for floor in floors)
    assert "the only ref_ms of results.csv" in only
    assert "the median of 3 times, 1 to 9 ms" in median
    told = found(report)
    assert "3 times of the eager reference of 23_softmax differ: 1 to 9 ms" in told
    assert "1 times of a reference 'magic'" in told


def test_the_table_as_a_whole_is_told_of(tmp_path: Path) -> None:
    report, _ = imported(tmp_path, {**PASSED, "speedup": 0.9}, SILENT)

    told = found(report)
    for part in (
        "op_type: empty in 1 of 2 rows", "baseline_type: empty in 1 of 2 rows",
        "precision_used: empty in 1 of 2 rows", "total_tokens: 0 in 1 of 2 rows",
        "estimated_cost_usd: 0 or empty in 1 of 2 rows",
        "results.csv:2: speedup: 0.9, but ref_ms / sol_ms is 0.5",
    ):  # fmt: skip
        assert part in told
    assert "v3-h100: 2 runs (2 written, 0 already there)" in report.text()
    assert "cells    1 passed, 1 no_solution; none with a score" in report.text()


def test_what_is_there_already_is_left_alone_and_told_where_it_differs(tmp_path: Path) -> None:
    imported(tmp_path, PASSED)
    folder = tmp_path / "runs" / "v3-h100"
    (folder / ID / "metrics.json").write_text("{}")
    (folder / "floors.json").write_text("{}")
    unfinished = folder / f"{ID.replace('alpha-1', 'beta')}.partial"
    unfinished.mkdir()
    rows = [PASSED, {**PASSED, "model": "Beta"}, {**PASSED, "model": "Gamma"}]
    report = import_table(table(tmp_path / "results.csv", *rows), tmp_path / "runs")

    (board,) = report.boards
    assert (board.written, board.already_there) == (1, 1)
    assert (folder / ID / "metrics.json").read_text() == "{}"
    assert (folder / "floors.json").read_text() == "{}"
    told = found(report)
    assert f"{ID}: there already, with another metrics.json; kept as it is" in told
    assert "floors.json: there already, with other floors" in told
    assert f"{unfinished.name}: being written by another import" in told


def test_a_gpu_that_is_said_to_be_two_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "results.csv", PASSED)
    asked = ["import", "kernelbench-v3", str(path), "--out", str(tmp_path / "runs")]
    said = ["--hardware", "H100=h100-pcie", "--hardware", "H100=h100-sxm"]
    done = CliRunner().invoke(kbsite, [*asked, *said])

    assert done.exit_code == 2
    assert "H100 is h100-pcie and h100-sxm" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_the_command_names_rows_that_are_wrong_and_imports_the_others(tmp_path: Path) -> None:
    path = table(tmp_path / "results.csv", PASSED, {**PASSED, "model": "Beta", "turns": "many"})
    asked = ["import", "kernelbench-v3", str(path), "--out", str(tmp_path / "runs")]
    done = CliRunner().invoke(kbsite, [*asked, "--boards", "--hardware", "H100=h100-pcie"])

    assert done.exit_code == 1
    assert f"error: {path}:3: turns: expected a whole number" in done.stderr
    assert "v3-h100: 1 run (1 written" in done.stderr
    (board,) = yaml.safe_load(done.stdout)["boards"]
    assert (board["id"], board["hardware"]) == ("v3-h100", "h100-pcie")
    assert read_run(tmp_path / "runs" / "v3-h100" / ID).run.hardware == "h100-pcie"


@pytest.mark.parametrize(
    ("hardware", "told"),
    [
        ({"A100": "a100"}, "the table has no GPU 'A100'; it has H100"),
        ({"H100": "H 100"}, "'H 100' is no id of hardware"),
    ],
)
def test_hardware_that_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, hardware: dict[str, str], told: str
) -> None:
    path = table(tmp_path / "results.csv", PASSED)

    with pytest.raises(UsageError, match=told):
        import_table(path, tmp_path / "runs", hardware)
    assert not (tmp_path / "runs").exists()
