"""The report on the H200 says what its results say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("h200_report", ROOT / "scripts/h200_report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REPORT = script()


def grading(ms: float) -> dict[str, Any]:
    return {"metrics": {"ms": ms, "shapes": [{"clocks": dict.fromkeys(REPORT.CLOCKS, ms)}]}}


def test_the_report_is_what_its_results_make() -> None:
    made = REPORT.report(REPORT.DATA, REPORT.FLOORS, REPORT.EXPLOITS)
    assert REPORT.REPORT.read_text("utf-8") == made


def test_every_floor_that_it_tells_of_passed() -> None:
    for kind in ("library", "eager", "compiled"):
        told = dict(REPORT.floor_runs(REPORT.FLOORS, kind))
        assert told
        assert {metrics["outcome"] for metrics in told.values()} == {"PASS"}


def test_floors_of_other_hardware_and_of_other_kinds_are_left_out(tmp_path: Path) -> None:
    floors = {"a": ("cpu", "eager"), "b": (REPORT.HARDWARE, "eager"),
              "c": (REPORT.HARDWARE, "library")}  # fmt: skip
    for name, (hardware, kind) in floors.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(
            json.dumps({"hardware": hardware, "model": kind, "problem": name})
        )
        (tmp_path / name / "metrics.json").write_text("{}")
    assert [problem for problem, _ in REPORT.floor_runs(tmp_path, "eager")] == ["b"]


def test_the_shape_whose_processes_differ_most_is_told_with_its_factor(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    said = {"hardware": REPORT.HARDWARE, "model": "compiled", "problem": "mrope"}
    (tmp_path / "a" / "run.json").write_text(json.dumps(said))
    rounds = [("long", [1.0, 9.0, 1.0]), ("small", [2.0]), ("long", [4.0]), ("small", [2.5])]
    (tmp_path / "a" / "samples.jsonl").write_text(
        "".join(json.dumps({"shape": shape, "event_ms": ms}) + "\n" for shape, ms in rounds)
    )
    assert REPORT.processes_apart(tmp_path, "compiled") == {"mrope": ("long", 4.0)}


def compiled_floor(folder: Path, text: str) -> None:
    """A compiled floor of mrope that reaches 0.3, one process twice as slow as the other."""
    folder.mkdir()
    said = {"hardware": REPORT.HARDWARE, "model": "compiled", "problem": "mrope"}
    metrics = {"peak_fraction": 0.3, "interval": [0.29, 0.31]}
    (folder / "run.json").write_text(json.dumps(said))
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "solution.py").write_text(text)
    rounds = [{"shape": "long", "event_ms": [ms]} for ms in (1.0, 2.0)]
    (folder / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rounds))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("torch._dynamo.config.automatic_dynamic_shapes = False\n", "for each shape"),
        ("torch.compile(x)\n", "as it comes"),
    ],
)
def test_how_a_floor_was_compiled_is_told_by_its_source(
    tmp_path: Path, text: str, said: str
) -> None:
    compiled_floor(tmp_path / "a", text)
    assert REPORT.how_compiled(tmp_path) == {"mrope": said}


def test_a_floor_for_each_shape_is_held_against_those_that_it_replaced(tmp_path: Path) -> None:
    compiled_floor(tmp_path / "a", "")
    passed = {
        "run": "20261123_042606_floor_compiled_mrope", "problem": "mrope", "outcome": "PASS",
        "peak_fraction": 0.1, "interval": [0.05, 0.15],
        "event_ms": {"long": [1.0, 1.1], "small": [1.0, 6.5]},
    }  # fmt: skip
    refused = {
        "run": "20261124_061040_floor_compiled_mrope", "problem": "mrope", "outcome": "NONFINITE",
        "peak_fraction": None, "interval": None, "event_ms": None,
    }  # fmt: skip
    assert REPORT.each_shape([passed, refused], tmp_path).splitlines()[2:] == [
        "| mrope | 23 November | 0.1000 (0.0500 to 0.1500) | 6.50 (small) "
        "| 0.3000 (0.2900 to 0.3100) | 2.00 (long) | 3.0 |",
        "| mrope | 24 November | NONFINITE |  | 0.3000 (0.2900 to 0.3100) | 2.00 (long) |  |",
    ]


@pytest.mark.parametrize(("second", "said"), [(1.004, "met"), (1.01, "missed"), (1.1, "missed")])
def test_goals_are_held_against_the_variation_of_whole_gradings(second: float, said: str) -> None:
    repeats = [("a", [grading(1.0), grading(second)] * 5), ("few", [grading(1.0), grading(9.0)])]
    made = REPORT.verdict(repeats)
    assert f": {said} over 10 gradings each." in made
    assert made.startswith("Of 1 floors")


def test_the_time_of_a_grading_and_each_of_its_clocks_have_a_line() -> None:
    lines = REPORT.spread_table([("a", [grading(1.0), grading(1.0)])]).splitlines()
    assert len(lines) == 2 + len(REPORT.CLOCKS) + 1
    assert lines[-1] == "| a | **the time** | 2 | 1000.0 | 0.00% |"


def test_gradings_whose_clocks_are_too_far_apart_are_counted() -> None:
    gradings = [grading(1.0) for _ in range(3)]
    gradings[1]["metrics"]["shapes"][0]["clocks"]["event_slope_ms"] = 0.98
    assert REPORT.apart_table([("a", gradings)]).endswith("| a | 0.00% | 2.00% | 2 of 3 |")


def test_clocks_are_held_against_each_other_over_the_same_batches() -> None:
    clocks = {"event_ms": 1.0, "event_slope_ms": 0.95, "wall_ms": 1.05, "slope_ms": 1.0}
    assert REPORT.of_batches(clocks) == pytest.approx(0.05)


@pytest.mark.parametrize(("reached", "said"), [(0.72, "met"), (0.69, "missed"), (0.96, "missed")])
def test_what_was_asked_for_of_a_floor_is_held_against_it(reached: float, said: str) -> None:
    metrics = {
        "stages": {"rounds": 60.0, "build": 20.0, "proofs": 9.6}, "rounds": 5,
        "calls_per_round": 100, "shapes": [{}], "peak_fraction": reached,
        "interval": [reached, reached],
    }  # fmt: skip
    made = REPORT.goal_table([("fp8_gemm", metrics)])
    assert f"0.70 to 0.95: {said} |" in made
    assert "| 90 s |" in made
    assert "took 70 s without what the solution took" in made


def test_only_what_a_gpu_was_shown_is_told_of_exploits() -> None:
    seen = {"outcome": "PASS", "dealt": "harmless", "grader": "x"}
    rows = [{"id": "A", "title": "a", "seen": {"cuda": seen}},
            {"id": "B", "title": "b", "seen": {"cpu": seen}}]  # fmt: skip
    made = REPORT.exploit_table({"exploits": rows, "hostile": [], "controls": []})
    assert made.splitlines()[2:] == ["| A | PASS | harmless | a |"]


def test_rates_are_told_of_each_machine_and_without_a_datasheet_figure_without_a_share() -> None:
    first = {"made": "2026-11-21T10:00:00", "gb_per_second": {"copy": 2400, "read": 1}}
    second = {"made": "2026-11-22T10:00:00", "gb_per_second": {"copy": 1200, "read": 2}}
    made = REPORT.anchors([{**one, "tflops": {}} for one in (first, second)])
    assert "| copy | 2400 GB/s, 0.500 | 1200 GB/s, 0.250 |" in made
    assert "| read | 1 GB/s | 2 GB/s |" in made


def test_shapes_of_all_floors_count_where_clocks_are_held_against_each_other() -> None:
    far = {"event_ms": 1.0, "event_slope_ms": 0.9, "wall_ms": 1.05, "slope_ms": 1.0}
    near = {**far, "event_slope_ms": 0.995}
    graded = [
        ("far", {"shapes": [{"clocks": far}]}),
        ("near", {"shapes": [{"clocks": near}]}),
    ]
    made = REPORT.apart(graded)
    assert "1 of 2 shapes" in made
