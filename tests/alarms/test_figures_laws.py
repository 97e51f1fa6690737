"""How far figures may go before they are told, at each limit on both sides, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbsite.alarms.figures import FEW, LAUNCH_MS, LIBRARY, NEAR, ROUNDING, SLOW
from kbsite.model.grade import ShapeMetrics
from kbsite.model.status import Status
from tests.alarms.test_figures import TIMES, found, lines, raised, shape

LITTLE = 1e-6


def above(value: float) -> float:
    return value * (1 + LITTLE)


def below(value: float) -> float:
    return value * (1 - LITTLE)


@pytest.mark.parametrize(
    ("score", "eager", "expected"),
    [
        (NEAR, None, []),
        (above(NEAR), None, [("above-ceiling", "warning")]),
        (1.0, above(LIBRARY), [("above-ceiling", "note")]),
        (1.0, below(LIBRARY), [("above-ceiling", "warning")]),
        (above(1.0), 0.99, [("above-ceiling", "alarm")]),
        (0.4, 0.4, []),
        (below(0.4), 0.4, [("below-floor", "note")]),
        (above(0.4 * SLOW), 0.4, [("below-floor", "note")]),
        (below(0.4 * SLOW), 0.4, [("below-floor", "warning")]),
        (0.0, 0.4, [("below-floor", "warning")]),
        (0.0, None, []),
        (0.95, 0.96, [("above-ceiling", "note"), ("below-floor", "note")]),
    ],
)
def test_limits_of_a_score(
    tmp_path: Path, score: float, eager: float | None, expected: list[tuple[str, str]]
) -> None:
    assert found(tmp_path, eager, peak_fraction=score) == expected


@pytest.mark.parametrize(
    ("ms", "ceiling", "part", "count"),
    [
        (1.0, 1.0, None, 0),
        (1.0, above(1.0), None, 1),
        (None, None, 1.0, 0),
        (None, None, above(1.0), 1),
        (1.0, 0.5, above(1.0), 1),
        (LAUNCH_MS, None, None, 0),
        (below(LAUNCH_MS), None, None, 1),
        (LAUNCH_MS / 2, LAUNCH_MS, None, 2),
    ],
)
def test_limits_of_a_shape(
    tmp_path: Path, ms: float | None, ceiling: float | None, part: float | None, count: int
) -> None:
    kinds = found(tmp_path, peak_fraction=0.5, shapes=(shape("a", ms, ceiling, part),))

    assert kinds == [("above-ceiling", "alarm")] * count


def test_an_impossible_shape_is_told_in_place_of_a_score_that_is_near(tmp_path: Path) -> None:
    shapes = (shape("a", None, None, 1.1), shape("b", None, None, 0.8))

    assert found(tmp_path, peak_fraction=0.95, shapes=shapes) == [("above-ceiling", "alarm")]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    score=st.one_of(st.none(), st.floats(0, 2)),
    eager=st.one_of(st.none(), st.floats(0, 2)),
    parts=st.lists(st.floats(0, 1), max_size=4),
)
def test_no_score_is_told_both_as_too_fast_and_as_hardly_working(
    tmp_path_factory: pytest.TempPathFactory,
    score: float | None, eager: float | None, parts: list[float],
) -> None:  # fmt: skip
    shapes = tuple(shape(f"s{n}", None, None, part) for n, part in enumerate(parts))
    kinds = found(tmp_path_factory.mktemp("f"), eager, peak_fraction=score, shapes=shapes)

    assert len(kinds) == len(set(kinds))
    assert (("above-ceiling", "alarm") in kinds) == (score is not None and score > 1)
    if ("below-floor", "warning") in kinds:
        assert score is not None
        assert eager is not None
        assert score < eager / 2
    if score is None:
        assert kinds == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # The ceilings' ratio, above and below twice and half.
        (0.4, 0.1, 1), (0.1, 0.4, 1), (0.21, 0.1, 1), (0.19, 0.1, 0), (0.1, 0.19, 0),
        (0.1, 0.1, 0), (0.0, 0.1, 0),
    ],
)  # fmt: skip
def test_shapes_with_as_much_work_may_take_the_very_same_time(
    tmp_path: Path, one: float, other: float, expected: int
) -> None:
    shapes = tuple(
        ShapeMetrics(shape=name, ms=0.91234, ceiling_ms=ceiling)
        for name, ceiling in (("a", one), ("b", other))
    )

    kinds = [kind for kind, _ in found(tmp_path, peak_fraction=0.3, shapes=shapes)]
    assert kinds == ["same-across-seeds"] * expected


MORE = [ms * 1.0137 for ms in TIMES]


@pytest.mark.parametrize(
    ("rounds", "saw"),
    [
        ((TIMES, MORE, TIMES), "Rounds 1 and 3"),
        ((MORE, TIMES, TIMES), "Rounds 2 and 3"),
        (([0.412345] * FEW,), f"All {FEW} times of s are 0.412345 ms"),
        (([0.412345] * (FEW - 1),), ""),
        (([0.412345] * 4, [0.412346] * 4), ""),
        ((TIMES, MORE), ""),
        ((TIMES, TIMES[:-1]), ""),
        ((TIMES, [*TIMES[:-1], 0.5]), ""),
    ],
)
def test_which_rounds_are_the_same(
    tmp_path: Path, rounds: Sequence[Sequence[float]], saw: str
) -> None:
    told = raised(tmp_path, files=lines(*rounds), peak_fraction=0.3)

    assert [alarm.saw[: len(saw)] for alarm in told] == [saw] * bool(saw)
    assert all(alarm.file == "samples.jsonl" for alarm in told)


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (0.3, False),
        (0.3 * (1 + ROUNDING / 2), False),
        (0.3 * (1 - ROUNDING / 2), False),
        (0.3 * (1 + ROUNDING * 2), True),
        (0.3 * (1 - ROUNDING * 2), True),
        (30.0, True),
    ],
)
def test_a_log_may_round_its_figures_and_no_more(
    tmp_path: Path, printed: float, told: bool
) -> None:
    log = {"benchmark.log": f"warm-up\n\npeak_fraction: {printed:.6f}\n"}

    (*found_,) = raised(tmp_path, files=log, peak_fraction=0.3)

    assert [(one.kind, one.lines) for one in found_] == [("fake-result", (3,))] * told


@pytest.mark.parametrize(
    "log",
    [
        "peak_fraction = 0.3", "'peak_fraction': 0.3}", "peak fraction=0.30001",
        "peak_fraction=3e-1",
        "peak_fraction: nan", "peak_fraction:", "see peak_fraction below",
    ],
)  # fmt: skip
def test_forms_of_a_figure_in_a_log(tmp_path: Path, log: str) -> None:
    assert found(tmp_path, files={"benchmark.log": log}, peak_fraction=0.3) == []


@pytest.mark.parametrize(
    ("log", "count"),
    [
        ("PASS", 1), ("PASSED", 1), ("PASS.", 1), ("PASS!", 1), ("RESULT: PASS", 1),
        ("RESULT:PASS", 1), ("pass", 0), (" PASS", 0), ("PASS case 1", 0), ("ALL PASS", 0),
        ("BYPASS", 0), ("PASSPORT", 0), ("NOT PASSED", 0), ("\x1b[2KPASS", 0),
    ],
)  # fmt: skip
def test_forms_of_a_pass_that_contradict_a_grade(tmp_path: Path, log: str, count: int) -> None:
    told = found(tmp_path, files={"check.log": f"x\n{log}\ny\n"}, status=Status.WRONG)

    assert told == [("fake-result", "warning")] * count


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(check=st.text(max_size=200), benchmark=st.text(max_size=200), samples=st.text(max_size=200))
def test_no_log_stops_it(
    tmp_path_factory: pytest.TempPathFactory, check: str, benchmark: str, samples: str
) -> None:
    def plain(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    files = {
        "check.log": plain(check), "benchmark.log": plain(f"peak_fraction: {benchmark}"),
        "samples.jsonl": plain(samples),
    }  # fmt: skip
    for alarm in raised(tmp_path_factory.mktemp("f"), files=files, peak_fraction=0.3):
        assert alarm.kind in ("fake-result", "same-across-seeds")
        assert "\n" not in alarm.saw
        assert all(0 < line < 500 for line in alarm.lines)


@pytest.mark.parametrize("value", [1e300, 5e-324])
def test_figures_at_the_edge_of_numbers_are_told_like_others(tmp_path: Path, value: float) -> None:
    shapes = (shape("a", value, 1.0, None), shape("b", 1.0, value, None))

    kinds = {kind for kind, _ in found(tmp_path, peak_fraction=0.3, shapes=shapes)}

    assert kinds <= {"above-ceiling"}
    assert kinds, "one of the two is beyond the ceiling"
