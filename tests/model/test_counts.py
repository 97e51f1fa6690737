"""How many of something there are is said as a person would say it."""

from __future__ import annotations

import pytest

from kbsite.model.counts import figure, number_of, small


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1203, "1,203 runs")],
)
def test_one_is_not_several(count: int, told: str) -> None:
    assert number_of(count, "run") == told


def test_what_takes_no_s_is_called_by_its_own_word() -> None:
    assert number_of(1, "process", "processes") == "1 process"
    assert number_of(3, "process", "processes") == "3 processes"


@pytest.mark.parametrize(
    ("value", "two", "most"),
    [(0.00014, "0.00014", "0.00014"), (0.0000012, "0.0000012", "0.0000012"),
     (6e-7, "0.00000060", "0.0000006"), (-6e-7, "-0.00000060", "-0.0000006"),
     (1.23456e-9, "0.0000000012", "0.000000001235"), (1.23456e-10, "1.2e-10", "1.235e-10"),
     (1e-300, "1.0e-300", "1e-300")],
)  # fmt: skip
def test_small_figures_are_written_one_way(value: float, two: str, most: str) -> None:
    assert (small(value), figure(value)) == (two, most)


@pytest.mark.parametrize(
    ("value", "told"),
    [(9999.6, "10000"), (12345.6, "12346"), (-12345.6, "-12346"), (123456789.0, "123456789"),
     (1e9, "1e+09"), (1e300, "1e+300")],
)  # fmt: skip
def test_a_large_figure_loses_no_digit_before_the_point(value: float, told: str) -> None:
    assert figure(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0, "0"), (0.5, "0.5"), (0.53456, "0.5346"), (1234.5, "1234"), (2, "2")]
)
def test_a_figure_of_a_usual_size_has_four_digits_at_most(value: float, told: str) -> None:
    assert figure(value) == told
