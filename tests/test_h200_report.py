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


def sample(event: float, wall: float = 0.0, slope: float = 0.0) -> dict[str, Any]:
    return {
        "event_ms": [event, event], "event_slope_ms": [event], "wall_ms": [wall + 0.4] * 3,
        "slope_ms": [slope] if slope else [], "overhead_ms": [0.4, 0.4, 9.0],
    }  # fmt: skip


def test_the_report_is_what_its_results_make() -> None:
    made = REPORT.report(REPORT.DATA, REPORT.FLOORS)
    assert REPORT.REPORT.read_text("utf-8") == made


def test_every_floor_that_it_tells_of_passed() -> None:
    told = dict(REPORT.floor_runs(REPORT.FLOORS))
    assert told
    assert {metrics["outcome"] for metrics in told.values()} == {"PASS"}


def test_a_floor_of_other_hardware_is_left_out(tmp_path: Path) -> None:
    for name, hardware in (("a", "cpu"), ("b", REPORT.HARDWARE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(
            json.dumps({"hardware": hardware, "problem": name})
        )
        (tmp_path / name / "metrics.json").write_text("{}")
    assert [problem for problem, _ in REPORT.floor_runs(tmp_path)] == ["b"]


def test_empty_calls_are_taken_off_the_graders_clock_alone() -> None:
    times = [sample(1.0, wall=1.1), sample(2.0, wall=2.1)]
    assert REPORT.process_times(times, "wall_ms") == pytest.approx([1.1, 2.1])
    assert REPORT.process_times(times, "event_ms") == [1.0, 2.0]
    assert REPORT.process_times(times, "slope_ms") == []


def test_the_slowest_clock_of_each_process_counts() -> None:
    times = [sample(1.0, wall=1.1, slope=1.2), sample(2.0, wall=1.9)]
    assert REPORT.slowest_times(times) == pytest.approx([1.2, 2.0])


@pytest.mark.parametrize(("second", "said"), [(1.001, "met"), (1.1, "missed")])
def test_goals_are_held_against_the_variation(second: float, said: str) -> None:
    repeats = [("a", {"samples": [sample(1.0, wall=1.0), sample(second, wall=second)]})]
    lines = REPORT.verdict(repeats).splitlines()
    assert len(lines) == 2
    assert all(f"is {said}." in line for line in lines)


def test_clocks_are_apart_by_the_slowest_over_the_event_clock() -> None:
    clocks = {"event_ms": 1.0, "event_slope_ms": 0.9, "wall_ms": 1.05, "slope_ms": 1.02}
    assert REPORT.disagreement(clocks) == pytest.approx(0.05)


def test_rates_without_a_datasheet_figure_have_no_share() -> None:
    made = REPORT.anchors({"gb_per_second": {"copy": 2400, "read": 1}, "tflops": {}})
    assert "| copy | 2400 GB/s | 0.500 |" in made
    assert "| read | 1 GB/s |  |" in made
