"""What is said of fractions that are too good."""

from __future__ import annotations

import pytest

from kbsite.model.grade import ShapeMetrics
from kbsite.model.grader_alarms import alarms


def metrics(fraction: float | None, achievable: float | None = None) -> ShapeMetrics:
    return ShapeMetrics(
        shape="wide", bound_by="fp8", peak_fraction=fraction, achievable_fraction=achievable
    )


@pytest.mark.parametrize(
    ("shapes", "library"),
    [
        ([], None),
        ([metrics(None)], None),
        ([metrics(0.9, 1.0)], None),
        ([metrics(0.5, 1.02)], None),
        ([metrics(0.95, 0.99)], 0.91),
        ([metrics(0.95)], 1.0),
        ([metrics(0.99), metrics(0.5)], None),
    ],
)
def test_fractions_that_hardware_allows_alarm_nobody(
    shapes: list[ShapeMetrics], library: float | None
) -> None:
    assert alarms(shapes, library) == []


@pytest.mark.parametrize(
    ("shapes", "library", "words"),
    [
        ([metrics(1.004)], 1.0, "wide: 1.004 of the ceiling (fp8), more than its figures allow"),
        ([metrics(0.7, 1.021)], 0.7, "wide: faster than this machine was measured at, 1.021"),
        ([metrics(0.95)], None, "0.950 of the ceiling over all shapes, but no library floor"),
        ([metrics(0.95), metrics(0.95)], 0.9, "the library floor here reaches 0.900"),
    ],
)
def test_fractions_that_are_too_good_are_told(
    shapes: list[ShapeMetrics], library: float | None, words: str
) -> None:
    (said,) = alarms(shapes, library)

    assert words in said


def test_one_shape_is_told_of_once() -> None:
    assert len(alarms([metrics(1.5, 1.5)], 1.5)) == 1
    assert len(alarms([metrics(1.5, 1.5), metrics(0.2)], None)) == 1
