"""`kbsite check` computes the figures of a grade anew, and names what does not follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.model.finding import Severity
from tests.conftest import MakeRun

SEED = "5eed" * 16
CLOCKS = {
    "event_ms": 0.9,
    "wall_ms": 1.0,
    "slope_ms": 0.95,
    "overhead_ms": 0.1,
    "event_slope_ms": 0.93,
}
SHAPES: list[dict[str, Any]] = [
    {"shape": name, "ms": 1.0, "interval_ms": [0.98, 1.02], "ceiling_ms": ceiling,
     "bound_by": "bf16", "floor_ms": 0.3, "peak_fraction": ceiling,
     "achievable_ms": 2 * ceiling, "achievable_fraction": 2 * ceiling, "clocks": CLOCKS,
     "rounds": 2}
    for name, ceiling in (("square", 0.4), ("tall", 0.1))
]  # fmt: skip
GRADE: dict[str, Any] = {
    "status": "passed", "outcome": "PASS", "peak_fraction": 0.2, "interval": [0.19, 0.21],
    "achievable_fraction": 0.4, "ms": 1.0, "shapes": SHAPES,
    "commitment": {"sha256": sha256(bytes.fromhex(SEED)).hexdigest(), "seed": SEED},
    "grader": "kbsite 1",
}  # fmt: skip


def line(number: int, shape: str, **lists: Any) -> dict[str, Any]:
    """A round whose slowest clock says 1 ms: the parent's, less an empty call."""
    made = {
        "ms": [0.99, 1.0, 1.01],
        "event_ms": [0.9],
        "wall_ms": [1.09, 1.1, 1.11],
        "slope_ms": [0.94, 0.95, 0.96],
        "event_slope_ms": [0.93],
        "overhead_ms": [0.1],
    }
    return {"round": number, "shape": shape, **made, **lists}


LINES = [line(number, shape["shape"]) for number in (1, 2) for shape in SHAPES]


@pytest.fixture(name="found")
def _found(tmp_path: Path, make_run: MakeRun) -> Callable[..., set[tuple[str, str, str | None]]]:
    """Checks a run with a grade, changed by a function; severity, file and key of what is wrong."""

    def check_of(
        change: Callable[[dict[str, Any], list[dict[str, Any]]], object] = lambda *_: None,
    ) -> set[tuple[str, str, str | None]]:
        grade, lines = deepcopy(GRADE), deepcopy(LINES)
        change(grade, lines)
        samples = "\n".join(map(json.dumps, lines)).encode()
        files = {"samples.jsonl": samples} if lines else {}
        folder = make_run(tmp_path / "demo", metrics=grade, files=files)
        named = [f for f in check([folder]) if f.path.endswith(("metrics.json", "samples.jsonl"))]
        assert all(f.line for f in named), "each names its line"
        return {(f.severity.value, Path(f.path).name, f.key) for f in named}

    return check_of


def test_a_grade_that_follows_from_its_samples_is_fine(found: Any) -> None:
    assert found() == set()


def set_in(*path: str | int, to: object) -> Callable[[dict[str, Any], object], None]:
    """A change of one figure of a grade."""

    def change(grade: dict[str, Any], _: object) -> None:
        held: Any = grade
        for step in path[:-1]:
            held = held[step]
        held[path[-1]] = to

    return change


SPOILT: list[tuple[tuple[str | int, ...], object, str]] = [
    (("shapes", 0, "peak_fraction"), 0.401, "shapes[0].peak_fraction"),
    (("shapes", 1, "achievable_fraction"), 0.21, "shapes[1].achievable_fraction"),
    (("shapes", 0, "interval_ms"), [1.01, 1.02], "shapes[0].interval_ms"),
    (("shapes", 0, "rounds"), 5, "shapes[0].rounds"),
    (("shapes", 1, "clocks", "wall_ms"), 0.97, "shapes[1].clocks.wall_ms"),
    (("shapes", 1, "clocks", "event_ms"), 0.97, "shapes[1].clocks.event_ms"),
    (("shapes", 1, "clocks", "slope_ms"), 0.97, "shapes[1].clocks.slope_ms"),
    (("shapes", 1, "clocks", "event_slope_ms"), 0.97, "shapes[1].clocks.event_slope_ms"),
    (("achievable_fraction",), 0.41, "achievable_fraction"),
    (("ms",), 1.01, "ms"),
    (("peak_fraction",), 0.201, "peak_fraction"),
    (("status",), "wrong", "status"),
    (("commitment", "sha256"), "0" * 64, "commitment.sha256"),
    (("commitment", "seed"), "secret", "commitment.seed"),
]


@pytest.mark.parametrize(("path", "value", "key"), SPOILT)
def test_a_figure_that_was_changed_by_hand_is_an_error(
    found: Any, path: tuple[str | int, ...], value: object, key: str
) -> None:
    assert ("error", "metrics.json", key) in found(set_in(*path, to=value))


def test_a_time_that_was_changed_with_all_that_follows_from_it_differs_from_the_samples(
    found: Any,
) -> None:
    def half(grade: dict[str, Any], _: object) -> None:
        for shape in grade["shapes"]:
            shape |= {"ms": 0.5, "interval_ms": [0.49, 0.51]}
            shape["peak_fraction"] *= 2
            shape["achievable_fraction"] *= 2
        grade |= {"ms": 0.5, "peak_fraction": 0.4, "interval": [0.39, 0.41]}
        grade["achievable_fraction"] = 0.8

    assert found(half) == {("error", "metrics.json", f"shapes[{n}].ms") for n in (0, 1)}


def test_the_slowest_clock_counts(found: Any) -> None:
    """A line whose own list of times leaves the slowest clock out does not help."""

    def hidden(_: object, lines: list[dict[str, Any]]) -> None:
        for row in lines:
            row["slope_ms"] = [2.0]

    keys = {key for _, _, key in found(hidden)}
    assert {"shapes[0].ms", "shapes[1].ms", "shapes[0].clocks.slope_ms"} <= keys


def test_a_passed_grade_of_our_own_needs_samples_of_every_shape(found: Any) -> None:
    def cut(_: object, lines: list[dict[str, Any]]) -> None:
        lines[:] = [row for row in lines if row["shape"] == "square"]

    assert found(cut) == {("error", "metrics.json", "shapes[1].ms")}
    assert found(lambda _, lines: lines.clear()) == {
        ("error", "metrics.json", f"shapes[{n}].ms") for n in (0, 1)
    }


def test_figures_of_other_graders_may_be_rounded_and_need_no_samples(found: Any) -> None:
    def imported(grade: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        del grade["outcome"], grade["commitment"]
        grade["peak_fraction"] = 0.201
        lines.clear()

    def wrong(grade: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        imported(grade, lines)
        grade["ms"] = 1.5

    assert found(imported) == set()
    assert found(wrong) == {("warning", "metrics.json", "ms")}


def test_a_time_below_the_floor_is_looked_at(found: Any) -> None:
    assert found(set_in("shapes", 0, "floor_ms", to=1.1)) == {
        (Severity.WARNING.value, "metrics.json", "shapes[0].ms")
    }
    assert found(set_in("shapes", 0, "floor_ms", to=1.01)) == set(), "clocks are read with an error"
