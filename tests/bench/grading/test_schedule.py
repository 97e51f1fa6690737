"""The order of calls: as many as asked for, none that tells what it is for."""

from __future__ import annotations

import random
from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from bench.grading.schedule import BATCHED, STRESS, Move, schedule

CASES = ("ordinary", "outliers", "tiny")

FEWEST_CALLS = 8
"""Below that there is no room for a batch beside single calls."""


def drawn(calls: int, slots: int = 12, seed: int = 1) -> list[Move]:
    return schedule(calls, CASES, slots, random.Random(seed))


def count(moves: list[Move]) -> int:
    return sum(len(move.cases) for move in moves)


@given(st.integers(FEWEST_CALLS, 300), st.integers(3, 40), st.integers(0, 1000))
def test_there_are_as_many_calls_as_asked_for_and_batches_as_long_as_may_be(
    calls: int, slots: int, seed: int
) -> None:
    moves = drawn(calls, slots, seed)
    lengths = [len(move.cases) for move in moves if move.batch]
    long = min(slots, int(calls * BATCHED))

    assert calls <= count(moves) <= calls + 3
    assert len(lengths) == ceil(int(calls * BATCHED) / long)
    assert {max(2, long - 1), long} >= set(lengths)


@given(st.integers(FEWEST_CALLS, 300), st.integers(0, 1000))
def test_what_is_nearly_the_call_before_has_a_call_before(calls: int, seed: int) -> None:
    moves = drawn(calls, seed=seed)

    assert not moves[0].near
    assert not any(move.batch for move in moves if move.near)


@given(st.integers(FEWEST_CALLS, 300), st.integers(0, 30), st.integers(0, 1000))
def test_batches_that_are_stopped_look_like_any_other(calls: int, stopped: int, seed: int) -> None:
    moves = schedule(calls, CASES, 12, random.Random(seed), stopped)
    timed = [move for move in moves if not move.stopped]

    assert len(moves) - len(timed) == stopped
    assert calls <= count(timed) <= calls + 3
    assert not moves[0].stopped
    lengths = {len(move.cases) for move in moves if move.stopped}
    long = max(len(move.cases) for move in timed)
    assert lengths <= {long - 1, long, long + 1}
    assert min(lengths, default=2) > 1


def test_single_calls_and_batches_share_the_calls_as_the_constants_say() -> None:
    moves = drawn(100)
    batched = sum(len(move.cases) for move in moves if move.batch)

    assert abs(batched / count(moves) - BATCHED) < 0.1


def test_other_inputs_than_ordinary_ones_are_at_least_a_fifth_of_many_calls() -> None:
    cases = Counter(case for seed in range(20) for move in drawn(100, seed=seed)
                    for case in move.cases)  # fmt: skip
    others = 1 - cases["ordinary"] / cases.total()

    assert set(cases) == set(CASES)
    assert 0.2 <= others <= STRESS + 0.05


def test_a_problem_with_one_case_is_asked_for_that_one() -> None:
    moves = schedule(20, ("ordinary",), 12, random.Random(3))

    assert {case for move in moves for case in move.cases} == {"ordinary"}


def test_the_order_is_another_one_each_time() -> None:
    shapes = {tuple(len(move.cases) for move in drawn(60, seed=seed)) for seed in range(10)}

    assert len(shapes) == 10
