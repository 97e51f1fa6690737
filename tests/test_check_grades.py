"""`kbsite check` computes the figures of a grade anew, and names what does not follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from bench.records import plain
from kbsite.check import check
from kbsite.model.accounting import Ceilings
from kbsite.model.finding import Severity
from kbsite.model.samples import Samples
from kbsite.store.files import folder_digest
from tests.conftest import MakeRun, MakeSettings
from tests.following import following

SHAPES = {"square": 0.4, "tall": 0.1}
"""Their ceilings, milliseconds."""


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


LINES = [line(number, shape) for number in (1, 2) for shape in SHAPES]
GRADE: dict[str, Any] = plain(following([convert(one, Samples) for one in LINES], SHAPES))


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


def test_a_grade_of_others_is_not_asked_for_what_only_ours_tells(
    tmp_path: Path, make_run: MakeRun
) -> None:
    """Means over shapes of which some are left out cannot be made anew, nor shares of nothing."""
    shapes = [
        {"shape": "a", "ms": 1.0, "peak_fraction": 0.5, "ceiling_ms": None},
        {"shape": "b", "ms": 2.0, "peak_fraction": None, "ceiling_ms": None},
    ]
    grade = {"status": "passed", "peak_fraction": 0.3, "interval": None, "shapes": shapes}
    folder = make_run(tmp_path / "demo", metrics=grade)

    assert [one for one in check([folder]) if one.path.endswith("metrics.json")] == []


def test_a_grade_of_ours_that_failed_lacks_nothing(tmp_path: Path, make_run: MakeRun) -> None:
    failed: dict[str, Any] = {"status": "wrong", "outcome": "INCORRECT", "peak_fraction": None,
              "interval": None, "shapes": []}  # fmt: skip
    folder = make_run(tmp_path / "demo", metrics=failed)

    assert [one for one in check([folder]) if one.path.endswith("metrics.json")] == []


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
    (("shapes", 0, "interval_ms"), [0.99, 1.02], "shapes[0].interval_ms"),
    (("shapes", 0, "interval_ms"), None, "shapes[0].interval_ms"),
    (("shapes", 0, "spread"), 0.01, "shapes[0].spread"),
    (("shapes", 0, "spread"), None, "shapes[0].spread"),
    (("shapes", 0, "rounds"), 5, "shapes[0].rounds"),
    (("shapes", 0, "calls"), 39, "shapes[0].calls"),
    (("shapes", 0, "dropped"), 33, "shapes[0].dropped"),
    (("shapes", 0, "dropped"), -1, "shapes[0].dropped"),
    (("shapes", 0, "peak_fraction"), None, "shapes[0].peak_fraction"),
    (("shapes", 0, "achievable_fraction"), None, "shapes[0].achievable_fraction"),
    (("shapes", 0, "clocks"), None, "shapes[0].clocks"),
    (("shapes", 0, "clocks", "overhead_ms"), 0.2, "shapes[0].clocks.overhead_ms"),
    (("shapes", 0, "clocks", "event_slope_ms"), None, "shapes[0].clocks.event_slope_ms"),
    (("shapes",), [], "shapes"),
    (("rounds",), 3, "shapes[0].rounds"),
    (("interval",), [0.19, 0.21], "interval"),
    (("interval",), None, "interval"),
    (("bootstrap_seed",), 7, "bootstrap_seed"),
    (("bootstrap_seed",), None, "bootstrap_seed"),
    (("achievable_fraction",), None, "achievable_fraction"),
    (("hardware",), None, "hardware"),
    (("outcome",), None, "outcome"),
    (("solution_hash",), "0" * 64, "solution_hash"),
    (("detail",), "80 calls in 2 fresh processes: it reaches 0.900.", "detail"),
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
        grade["achievable_fraction"] *= 2

    keys = {f"shapes[{n}].{key}" for n in (0, 1) for key in ("ms", "interval_ms")}
    assert found(half) == {("error", "metrics.json", key) for key in {*keys, "interval", "detail"}}


FASTER = Ceilings(ceiling_ms=0.4, bound_by="bf16", floor_ms=0.3, achievable_ms=1.1)
ALARMED = {
    "above": {"square": 1.5, "tall": 0.1},
    "faster": {"square": FASTER, "tall": 0.1},
    "both": {"square": 1.5, "tall": 1.25},
}
"""Ceilings by which a grade has alarms: above them, or faster than the anchors."""


@pytest.mark.parametrize("ceilings", ALARMED.values(), ids=ALARMED)
def test_an_alarm_that_was_taken_out_of_a_grade_or_changed_is_an_error(
    found: Any, ceilings: dict[str, float | Ceilings]
) -> None:
    whole = plain(following([convert(one, Samples) for one in LINES], ceilings))
    assert whole["alarms"]

    def of(*alarms: str) -> Callable[[dict[str, Any], object], None]:
        return lambda grade, _: grade.update({**whole, "alarms": list(alarms)})

    missing = ("error", "metrics.json", "alarms")
    assert missing not in found(of(*whole["alarms"], "Something else."))
    reworded = [one.replace("ceiling", "peak") for one in whole["alarms"]]
    assert missing not in found(of(*reworded)), "other versions may say it otherwise"
    for at in range(len(whole["alarms"])):
        others = [one for number, one in enumerate(whole["alarms"]) if number != at]
        assert missing in found(of(*others))
        weaker = whole["alarms"][at].replace(".", ".0", 1)
        assert missing in found(of(*others, weaker))


def test_a_grade_of_ours_with_a_score_and_no_shapes_follows_from_nothing(found: Any) -> None:
    def bare(grade: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        lines.clear()
        grade |= {"shapes": [], "peak_fraction": 0.9, "interval": [0.89, 0.91]}

    assert ("error", "metrics.json", "shapes") in found(bare)


def test_a_grade_may_not_leave_out_the_shape_that_does_badly(found: Any) -> None:
    def best(grade: dict[str, Any], _: object) -> None:
        del grade["shapes"][1]
        grade |= {"peak_fraction": 0.4, "achievable_fraction": 0.48}

    assert ("error", "metrics.json", "shapes") in found(best)


def test_an_interval_that_other_draws_come_to_is_only_looked_at(found: Any) -> None:
    """Of 10,000 draws its ends hang on chance: another version of NumPy may draw otherwise."""

    def near(grade: dict[str, Any], _: object) -> None:
        low, high = grade["interval"]
        grade["interval"] = [low + 0.02 * (high - low), high]

    assert found(near) == {("warning", "metrics.json", "interval")}


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
        grade["grader"] = "grader 1"
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


def test_an_earlier_grade_is_computed_anew_too(tmp_path: Path, make_run: MakeRun) -> None:
    """Its figures stand on the run's page, below those of the last one."""
    when = "grades/20260101T000000Z"
    samples = "\n".join(map(json.dumps, LINES)).encode()

    def wrong(interval: list[float]) -> set[tuple[str, str, str | None]]:
        earlier = json.dumps({**GRADE, "interval": interval}).encode()
        files = {f"{when}/metrics.json": earlier, f"{when}/samples.jsonl": samples}
        run = make_run(tmp_path / "demo", metrics={"status": "wrong"}, files=files)
        return {
            (one.severity.value, Path(one.path).relative_to(run).as_posix(), one.key)
            for one in check([run])
        }

    assert wrong(GRADE["interval"]) == set()
    assert wrong([0.19, 0.21]) == {
        ("warning", f"{when}/metrics.json", key) for key in ("interval", "detail")
    }


@pytest.mark.parametrize(
    ("graded", "hardware", "known"),
    [
        ({}, "gpu-a", set()),
        ({}, None, set()),
        ({}, "gpu-b", {("warning", "hardware")}),
        ({"device": "cpu", "hardware": None}, "cpu", set()),
        ({"device": "cpu", "hardware": None}, "gpu-a", {("warning", "hardware")}),
        ({"outcome": None, "grader": "grader 1"}, "gpu-b", set()),
    ],
)
def test_a_run_of_other_hardware_than_its_grade_is_looked_at(
    tmp_path: Path, make_run: MakeRun, graded: dict[str, Any], hardware: str | None,
    known: set[tuple[str, str]],
) -> None:  # fmt: skip
    run = make_run(tmp_path / "demo", metrics={**GRADE, **graded}, hardware=hardware)
    kept = [one for one in check([run]) if one.path.endswith("run.json")]

    assert {(one.severity.value, one.key) for one in kept} == known


def test_an_alarm_on_a_file_of_the_problem_that_a_run_changed_is_missed(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    present = folder_digest(settings.problems / "softmax")
    mine, true = "workspace/reference.py", settings.problems / "softmax" / "reference.py"
    alarm = f"The run has a reference.py of its own ({mine}), which is not the problem's."

    def missed(held: bytes, *alarms: str, its_hash: str = present) -> list[str]:
        grade = {**GRADE, "problem_hash": its_hash, "alarms": list(alarms)}
        files = {mine: held, "grades/2026/reference.py": b"x"}
        folder = make_run(settings.runs / "demo", metrics=grade, files=files)
        return [one.message for one in check([folder], settings) if one.key == "alarms"]

    (said,) = missed(b"import os\n")
    assert f"missing is: The run has a reference.py of its own ({mine})" in said
    assert missed(b"import os\n", alarm) == []
    assert missed(true.read_bytes()) == []
    assert missed(b"import os\n", its_hash="a" * 64) == [], "nobody has the one that was graded"
