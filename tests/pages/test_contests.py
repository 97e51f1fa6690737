"""Runs that can be compared, and what the two are called that are offered first."""

from __future__ import annotations

import pytest

from kbsite.boards import board
from kbsite.pages.contests import contests
from tests.test_boards import attempt, config


@pytest.mark.parametrize(
    ("scores", "called"),
    [((0.2, 0.4, None), "best two"), ((None, 0.4), "first two"), ((None, None), "first two")],
)
def test_two_are_the_best_only_where_both_have_a_score(
    scores: tuple[float | None, ...], called: str
) -> None:
    runs = [attempt(f"r{n}", model=f"m{n}", score=score) for n, score in enumerate(scores)]
    [held] = contests([board(config("p"), runs)])

    assert held.pair == called
