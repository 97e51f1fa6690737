"""Rows of things that are made whenever one is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.on_demand import OnDemand

SLICES = st.slices(20)


class Squares(OnDemand[int]):
    def __len__(self) -> int:
        return 10

    def made(self, number: int) -> int:
        return number * number


@given(SLICES)
def test_it_answers_as_a_list_does(chosen: slice) -> None:
    plain = [number * number for number in range(10)]
    row = Squares()

    assert list(row[chosen]) == plain[chosen]
    assert [row[number] for number in range(-10, 10)] == [plain[n] for n in range(-10, 10)]
    assert list(row) == plain
    assert list(reversed(row)) == plain[::-1]


@pytest.mark.parametrize("number", [10, -11])
def test_there_are_not_so_many(number: int) -> None:
    with pytest.raises(IndexError):
        _ = Squares()[number]
