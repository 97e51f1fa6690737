"""What is said of fractions that are too good."""

from __future__ import annotations

import pytest

from kbsite.model.grade import ShapeMetrics
from kbsite.model.grader_alarms import alarms, gathered


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


def test_what_is_said_alike_of_several_shapes_is_told_once_with_each_figure() -> None:
    reached = {"wide": 1.124, "deep": 1.058, "up": 1.021}
    shapes = [ShapeMetrics(shape=name, achievable_fraction=one) for name, one in reached.items()]
    [told] = gathered(alarms(shapes, 0.7), 300)

    assert told.startswith(
        "wide, deep and up: faster than this machine was measured at, 1.124, 1.058 and 1.021 of its"
    )
    assert gathered(alarms(shapes, 0.7), 10) == alarms(shapes, 0.7)


@pytest.mark.parametrize(
    ("sentences", "told"),
    [
        ([], []),
        (["a: 1.5 of it.", "b: 1.5 of it."], ["a and b: 1.5 and 1.5 of it."]),
        (["a: 1.5 of it.", "Look.", "b: 2.5 of it."], ["a and b: 1.5 and 2.5 of it.", "Look."]),
        (["a: 1.5 of it.", "a: 1.5 of her."], ["a: 1.5 of it.", "a: 1.5 of her."]),
        # Several figures, none, or no shape: which would be whose is not said.
        (["a: 1.5 of 2.5.", "b: 1.5 of 2.5."], ["a: 1.5 of 2.5.", "b: 1.5 of 2.5."]),
        (["a: of it.", "b: of it."], ["a: of it.", "b: of it."]),
        (["1.5 of it.", "2.5 of it."], ["1.5 of it.", "2.5 of it."]),
        # What a sentence is like as a whole is no sentence on a shape.
        (["0.0 of it.", "a: 1.5 of it.", "0.0 of it."], ["0.0 of it."] * 2 + ["a: 1.5 of it."]),
        ([r"\1: 1.5 \g<0>", r"\2: 2.5 \g<0>"], [r"\1 and \2: 1.5 and 2.5 \g<0>"]),
        ([f"{n}: {n}.5 {'x' * 80}" for n in range(3)],
         [f"0 and 1: 0.5 and 1.5 {'x' * 80}", f"2: 2.5 {'x' * 80}"]),
    ],
)  # fmt: skip
def test_no_word_of_what_a_grader_says_is_lost(sentences: list[str], told: list[str]) -> None:
    assert gathered(sentences, 105) == told


def test_what_is_too_long_to_be_told_of_several_shapes_is_not_looked_through() -> None:
    long = [f"{shape}: {'1' * 3_000_000}" for shape in "ab"]

    assert gathered(long, 300) == long
