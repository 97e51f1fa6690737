"""How many of something there are is said as a person would say it."""

from __future__ import annotations

import pytest

from kbsite.model.counts import number_of


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1203, "1,203 runs")],
)
def test_one_is_not_several(count: int, told: str) -> None:
    assert number_of(count, "run") == told


def test_what_takes_no_s_is_called_by_its_own_word() -> None:
    assert number_of(1, "process", "processes") == "1 process"
    assert number_of(3, "process", "processes") == "3 processes"
