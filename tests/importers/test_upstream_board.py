"""The import of the real published board, where its files lie beside the checkout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kbsite.importers.kernelbench_hard import import_board
from kbsite.importers.report import Oddity, Report
from kbsite.model.audit import Audit, Verdict
from kbsite.model.floor import FloorKind
from kbsite.model.proof import ProofState
from kbsite.model.run import Contender
from kbsite.model.status import EndReason, Status
from kbsite.store.manifests import manifest_findings
from kbsite.store.records import yaml_record
from kbsite.store.run_folders import run_folders
from kbsite.store.runs import StoredRun, read_floors, read_run
from tests.importers.published_board import BESIDE

SOURCE = BESIDE / "upstream" / "hard"
BROKEN = (
    "20260507_142049_opencode_openrouter-pinned_minimax_minimax-m2.7_10_patch_embed_conv3d_gemm"
)
PLACEHOLDER = "20260427_230711_codex_gpt-5.5_01_fp8_gemm"

pytestmark = pytest.mark.skipif(
    not SOURCE.is_dir(), reason="the published board's files are not beside the checkout"
)

Imported = tuple[Report, Path, dict[str, StoredRun]]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    out = tmp_path_factory.mktemp("runs") / "kernelbench-hard"
    report = import_board(SOURCE, out)
    return report, out, {folder.name: read_run(folder) for folder in run_folders(out)}


def published_cells() -> dict[str, tuple[dict[str, Any], str, dict[str, Any]]]:
    board = json.loads((SOURCE / "leaderboard.json").read_text("utf-8"))
    return {
        cell["run_id"]: (row, problem, cell)
        for row in board["models"]
        for problem, cell in row["results"].items()
    }


def about(report: Report, file: str) -> list[Oddity]:
    return [oddity for oddity in report.oddities if oddity.file == file]


def test_every_cell_becomes_a_valid_run(imported: Imported) -> None:
    report, _, runs = imported
    assert report.written == len(runs) == 117
    assert runs.keys() == published_cells().keys()
    for stored in runs.values():
        assert stored.findings == ()
        assert manifest_findings(stored) == []


def test_the_census(imported: Imported) -> None:
    report, _, runs = imported
    assert report.cells == {
        Status.PASSED: 77,
        Status.WRONG: 17,
        Status.FORBIDDEN: 1,
        Status.NO_SOLUTION: 22,
    }
    assert report.scored == 75
    assert sum(stored.run.cut for stored in runs.values()) == 55
    assert {stored.run.end_reason for stored in runs.values()} == {
        EndReason.BUDGET,
        EndReason.UNKNOWN,
    }


def test_every_published_figure_is_carried_over(imported: Imported) -> None:
    _, _, runs = imported
    for run_id, (row, problem, cell) in published_cells().items():
        stored = runs[run_id]
        assert stored.metrics.peak_fraction == cell["peak_fraction"]
        assert stored.run.seconds == cell["elapsed_seconds"]
        assert (stored.run.problem, stored.run.model) == (problem, row["model"])
        assert (stored.metrics.status is Status.PASSED) == cell["correct"]


def test_rows_and_problems_stay_apart(imported: Imported) -> None:
    _, _, runs = imported
    cells = {(stored.run.contender, stored.run.problem) for stored in runs.values()}
    contenders = {contender for contender, _ in cells}
    assert (len(cells), len(contenders)) == (117, 13)
    assert {c.effort for c in contenders} == {"xhigh", "max", None}
    assert Contender("opencode", "zai/glm-5.1", None, None) in contenders
    assert Contender("opencode", "zai/glm-5.1", None, "2026-05-08") in contenders


def test_the_machine_and_the_providers(imported: Imported) -> None:
    _, _, runs = imported
    assert {stored.run.hardware for stored in runs.values()} == {"rtx-pro-6000-blackwell"}
    assert {(stored.run.harness, stored.run.provider) for stored in runs.values()} == {
        ("codex", None),
        ("claude", None),
        ("kimi", None),
        ("droid", None),
        ("opencode", "openrouter (pinned)"),
        ("opencode", "deepseek"),
        ("opencode", "zai"),
    }


def test_every_note_becomes_an_audit(imported: Imported) -> None:
    report, out, runs = imported
    audits = {name: stored.audit for name, stored in runs.items() if stored.audit}
    assert report.audits == len(audits) == 34
    assert {path.stem for path in (SOURCE / "annotations").iterdir()} == audits.keys()
    verdicts = [audit.verdict for audit in audits.values()]
    assert [verdicts.count(verdict) for verdict in Verdict] == [21, 11, 0, 0, 2]
    for name, audit in audits.items():
        assert yaml_record(out / name / "audit.yaml", Audit) == audit
    assert (report.quotes_kept, report.quotes_refused) == (19, 2)


def test_the_seven_numbers_that_differ_are_named(imported: Imported) -> None:
    report, _, _ = imported
    differing = [oddity for oddity in report.oddities if oddity.key == "peak_fraction"]
    assert len(differing) == 7
    assert all(oddity.line == 6 for oddity in differing)


def test_no_quote_can_be_proven_without_sources_and_the_report_says_so(imported: Imported) -> None:
    report, _, _ = imported
    text = report.text()
    states = {quote.proof.state for quote in report.quotes if quote.proof}
    assert len(report.quotes) == report.quotes_kept == 19
    assert states == {ProofState.NO_FILE}
    assert "  quotes   0 of 19 proven against the files of the runs" in text
    assert f"  19 of 19 quotes: {ProofState.NO_FILE.sentence}" in text
    assert "  2 quotes were left out" in text
    assert "  7 notes tell another score than the board" in text
    assert all(text.count(quote.text) == 1 for quote in report.quotes)


def test_a_quote_is_proven_where_its_source_is_there(imported: Imported, tmp_path: Path) -> None:
    _, out, _ = imported
    copy = tmp_path / "kernelbench-hard"
    shutil.copytree(out, copy)
    audit = read_run(copy / BROKEN).audit
    assert audit is not None
    (copy / BROKEN / "check.log").write_text(f"{audit.quotes[0].text}\n", "utf-8")
    report = import_board(SOURCE, copy)
    assert report.proven == 1
    assert [quote.file for quote in report.quotes if quote.proven] == [f"annotations/{BROKEN}.yaml"]


def test_the_note_that_is_no_yaml_is_mended_and_named(imported: Imported) -> None:
    report, _, runs = imported
    audit = runs[BROKEN].audit
    assert audit is not None
    assert audit.verdict is Verdict.BUG
    assert [quote.file for quote in audit.quotes] == ["check.log"]
    assert runs[BROKEN].metrics.status is Status.FORBIDDEN
    assert runs[BROKEN].metrics.detail == audit.quotes[0].text
    lines = [oddity.line for oddity in about(report, f"annotations/{BROKEN}.yaml")]
    assert 33 in lines
    assert 20 in lines


def test_the_quote_of_nothing_is_left_out_and_named(imported: Imported) -> None:
    report, _, runs = imported
    audit = runs[PLACEHOLDER].audit
    assert audit is not None
    assert audit.quotes == ()
    (oddity,) = about(report, f"annotations/{PLACEHOLDER}.yaml")
    assert "was not found" in oddity.found


def test_what_is_odd_on_the_board_is_named(imported: Imported) -> None:
    report, _, _ = imported
    found = [oddity.found for oddity in about(report, "leaderboard.json")]
    assert sum("passed without a score" in text for text in found) == 2
    assert sum("over after" in text for text in found) == 4
    assert sum("once more" in text for text in found) == 1
    assert sum("is not of 'droid/" in text for text in found) == 1
    assert len(found) == 9
    assert all(oddity.found and oddity.done for oddity in report.oddities)


EAGER = {
    "01_fp8_gemm": 0.4194, "02_kda_cutlass": 0.0002, "03_paged_attention": 0.0278,
    "04_kahan_softmax": 0.0381, "05_topk_bitonic": 0.0176, "06_sonic_moe_swiglu": 0.1289,
    "07_w4a16_gemm": 0.0217, "09_fmha_preattn_mrope": 0.1243, "10_patch_embed_conv3d_gemm": 0.0485,
}  # fmt: skip


def test_the_floors_in_the_unit_of_the_grid(imported: Imported) -> None:
    report, out, _ = imported
    floors = read_floors(out)
    eager = {f.problem: f.peak_fraction for f in floors if f.kind is FloorKind.EAGER}
    assert eager == EAGER
    kinds = [floor.kind for floor in floors]
    assert [kinds.count(kind) for kind in FloorKind] == [3, 9, 9]
    assert (report.floors, report.floors_scored) == (21, 21)
    assert next(f for f in floors if f.peak_fraction == 0.3233).kind is FloorKind.COMPILED


def test_the_floors_peaks_give_back_the_work_of_the_problems() -> None:
    """Mean work over the shapes, by each problem's formula, over the time is the rate given.

    So the rates are of the formulas that the board scored with: a rate over its peak is a score.
    """
    rows = json.loads((SOURCE / "problem_baselines.json").read_text("utf-8"))["problems"]
    gemms = [(4096, 4096, 4096), (4096, 4096, 4127), (32, 8192, 8192), (4096, 14336, 4096)]
    softmaxes = [(32, 4096), (16, 32768), (8, 131072), (4, 262144), (8, 131072)]
    moes = [(32768, 4096, 1536), (4096, 2048, 1024), (16384, 2048, 4096)]
    work = {
        ("01_fp8_gemm", "tflops"): _mean([2 * m * n * k for m, n, k in gemms]) / 1e9,
        ("04_kahan_softmax", "gbps"): _mean([8 * batch * n for batch, n in softmaxes]) / 1e6,
        ("06_sonic_moe_swiglu", "tflops"): _mean([4 * t * h * i for t, h, i in moes]) / 1e9,
    }
    for (problem, rate), amount in work.items():
        for row in rows[problem].values():
            assert row[rate] == pytest.approx(amount / row["ms"], rel=0.005)


def _mean(values: list[int]) -> float:
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def test_a_second_import_finds_everything_there(imported: Imported) -> None:
    first, out, _ = imported
    again = import_board(SOURCE, out)
    assert (again.written, again.already_there) == (0, 117)
    assert again.oddities == first.oddities
