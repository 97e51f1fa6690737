"""Figures that physics does not allow, or that do not change where they should, are noticed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.figures import Figures
from kbsite.model.grade import Metrics, ShapeMetrics
from kbsite.model.status import Status
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.runs import read_run
from tests.alarms.made import made_run

ID = "20261120_100000_claude_m_p"


def found(
    tmp_path: Path, eager: float | None = None, files: dict[str, str] | None = None, **graded: Any
) -> list[tuple[str, str]]:
    """The kinds and levels of what the figures of a run give away, and what is said of them."""
    return [(alarm.kind, alarm.level.value) for alarm in raised(tmp_path, eager, files, **graded)]


def raised(
    tmp_path: Path, eager: float | None = None, files: dict[str, str] | None = None, **graded: Any
) -> Sequence[Any]:
    partial = new_run_folder(tmp_path, ID)
    for name, text in (files or {}).items():
        (partial / name).write_text(text, "utf-8")
    metrics = Metrics(**{"format": 1, "status": Status.PASSED, **graded})
    stored = read_run(complete(partial, made_run(ID), metrics))
    return list(Figures().alarms(Evidence(stored, eager=eager)))


def shape(name: str, ms: float | None, ceiling: float | None, part: float | None) -> ShapeMetrics:
    return ShapeMetrics(shape=name, ms=ms, ceiling_ms=ceiling, peak_fraction=part)


@pytest.mark.parametrize(
    ("score", "eager", "expected"),
    [
        (0.31, None, []),
        (0.31, 0.2, []),
        (0.31, 0.4, [("below-floor", "note")]),
        (0.19, 0.4, [("below-floor", "warning")]),
        (0.91, None, [("above-ceiling", "warning")]),
        (0.91, 0.5, [("above-ceiling", "warning")]),
        (0.91, 0.85, [("above-ceiling", "note")]),
        (1.0, None, [("above-ceiling", "warning")]),
        (1.01, 0.9, [("above-ceiling", "alarm")]),
        (None, 0.4, []),
    ],
)
def test_a_score_is_held_against_ceiling_and_floor(
    tmp_path: Path, score: float | None, eager: float | None, expected: list[tuple[str, str]]
) -> None:
    assert found(tmp_path, eager, peak_fraction=score) == expected


def test_a_wrong_solution_is_not_slow(tmp_path: Path) -> None:
    assert found(tmp_path, 0.4, status=Status.WRONG) == []


@pytest.mark.parametrize(
    ("shapes", "count"),
    [
        ([shape("a", 1.0, 0.5, 0.5)], 0),
        ([shape("a", 1.0, 1.2, None)], 1),
        ([shape("a", None, None, 1.2), shape("b", 1.0, 3.0, 3.0)], 1),
        ([shape("a", 0.0009, None, None)], 1),
        ([shape("a", 0.0, 0.1, None)], 1),
        ([shape("a", None, None, None)], 0),
    ],
)
def test_a_shape_is_held_against_the_ceiling(
    tmp_path: Path, shapes: list[ShapeMetrics], count: int
) -> None:
    kinds = found(tmp_path, peak_fraction=0.5, shapes=tuple(shapes))

    assert kinds == [("above-ceiling", "alarm")] * count


def test_the_worst_shape_is_named_and_the_others_counted(tmp_path: Path) -> None:
    shapes = (shape("small", 1.0, 2.0, 2.0), shape("large", 1.0, 9.0, 9.0))

    (alarm,) = raised(tmp_path, peak_fraction=0.5, shapes=shapes)

    assert "On large it is 9 " in alarm.saw
    assert "1 more" in alarm.saw
    assert alarm.file == "metrics.json"


@pytest.mark.parametrize(
    ("one", "other", "ceiling", "expected"),
    [
        (0.41234, 0.41234, 9.0, [("same-across-seeds", "warning")]),
        (0.41234, 0.41235, 9.0, []),
        (0.4, 0.4, 9.0, []),
        (0.41234, 0.41234, 0.11, []),
    ],
)
def test_shapes_of_other_sizes_never_take_the_very_same_time(
    tmp_path: Path, one: float, other: float, ceiling: float, expected: list[tuple[str, str]]
) -> None:
    shapes = (shape("n=1", one, 0.1, 0.2), shape("n=9", other, ceiling / 100, 0.2))
    shapes = (shapes[0], ShapeMetrics(shape="n=9", ms=other, ceiling_ms=0.1 * ceiling / 10))
    ratio = {9.0: 0.3, 0.11: 0.11}[ceiling]
    shapes = (shapes[0], ShapeMetrics(shape="n=9", ms=other, ceiling_ms=ratio))

    assert found(tmp_path, peak_fraction=0.3, shapes=shapes) == expected


def lines(*rounds: Sequence[float]) -> dict[str, str]:
    rows = [{"round": n + 1, "shape": "s", "ms": list(ms)} for n, ms in enumerate(rounds)]
    return {"samples.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)}


TIMES = (0.412345, 0.413456, 0.411111, 0.419876, 0.414567)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ((TIMES, TIMES), ["same-across-seeds"]),
        ((TIMES, TIMES[::-1]), ["same-across-seeds"]),
        ((TIMES, [ms + 0.000001 for ms in TIMES]), []),
        ((TIMES,), []),
        ((TIMES[:4], TIMES[:4]), []),
        (([0.412345] * 5,), ["same-across-seeds"]),
        (([0.412345] * 3, [0.412345] * 3), ["same-across-seeds"]),
        (([0.41] * 50, [0.41] * 50), []),
        (((0.4, 0.5, 0.6, 0.7, 0.8), (0.4, 0.5, 0.6, 0.7, 0.8)), []),
    ],
)
def test_rounds_with_fresh_inputs_never_take_the_very_same_times(
    tmp_path: Path, rounds: tuple[Sequence[float], ...], expected: list[str]
) -> None:
    held = found(tmp_path, files=lines(*rounds), peak_fraction=0.3)

    assert held == [(kind, "alarm") for kind in expected]


def test_samples_that_cannot_be_read_stop_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, files={"samples.jsonl": "{\n[]\n\0"}, peak_fraction=2.0) == [
        ("above-ceiling", "alarm")
    ]


@pytest.mark.parametrize(
    ("status", "log", "expected"),
    [
        (Status.PASSED, "compiling\nPASS\n", []),
        (Status.PASSED, "PASS\nsome text\nPASS\n", [("fake-result", "warning")]),
        (Status.PASSED, "case 1 PASS\ncase 2 PASS\nPASS\n", []),
        (Status.WRONG, "PASS\n", [("fake-result", "warning")]),
        (Status.WRONG, "FAIL\n", []),
        (Status.UNGRADED, "PASS\n", []),
    ],
)
def test_a_check_that_passes_twice_or_against_the_grade_is_told(
    tmp_path: Path, status: Status, log: str, expected: list[tuple[str, str]]
) -> None:
    assert found(tmp_path, files={"check.log": log}, status=status) == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("peak_fraction: 0.3004\n", []),
        ("shape=1 peak_fraction=0.5\nshape=2 peak_fraction=0.1\npeak_fraction: 0.3\n", []),
        ('{"peak_fraction": 0.51}\n', []),
        ("nothing\n", []),
        ("peak_fraction: .\n", [("fake-result", "warning")]),
        ("x\npeak_fraction: 0.9\n", [("fake-result", "warning")]),
    ],
)
def test_a_benchmark_with_other_figures_than_the_grade_is_told(
    tmp_path: Path, log: str, expected: list[tuple[str, str]]
) -> None:
    shapes = (shape("a", None, None, 0.51),)
    held = found(tmp_path, files={"benchmark.log": log}, peak_fraction=0.3, shapes=shapes)

    assert held == expected


def test_where_a_log_contradicts_is_named(tmp_path: Path) -> None:
    (alarm,) = raised(tmp_path, files={"check.log": "a\nPASS\nb\nPASS\n"}, peak_fraction=0.3)

    assert (alarm.file, alarm.lines) == ("check.log", (2, 4))


def test_what_the_grader_noticed_alike_on_several_shapes_is_one_alarm(tmp_path: Path) -> None:
    said = ["a: 1.5 of it.", "b: 2.5 of it."]
    found = [one.saw for one in raised(tmp_path, alarms=said) if one.kind == "grader"]

    assert found == ["a and b: 1.5 and 2.5 of it."]


def test_what_the_grader_noticed_is_passed_on(tmp_path: Path) -> None:
    said = ("square: faster than this machine\nwas measured at.", *("again" for _ in range(50)))
    found = [one for one in raised(tmp_path, alarms=said) if one.kind == "grader"]

    assert found[0].saw == "square: faster than this machine was measured at."
    assert (found[0].level.value, found[0].file) == ("warning", "metrics.json")
    assert len(found) == 10
    (long,) = raised(tmp_path / "other", alarms=("x" * 9999,))
    assert len(long.saw) == 300
