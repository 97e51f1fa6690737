"""Groups, rank intervals and intervals of shares against computations made in other ways."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from itertools import combinations, product
from math import comb, isclose, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kbsite.boards import board
from kbsite.model.board import Board
from kbsite.model.standing import Proportion, Standing
from kbsite.model.status import Status
from kbsite.standings import (
    CONFIDENCE,
    FEWEST_DIFFERENCES,
    RESAMPLES,
    Z,
    letter_groups,
    standard_error,
    standings,
    told_apart,
    wilson,
)
from tests.test_boards import attempt, config

SCORES = st.integers(0, 10**9)


def deck_of(*models: Sequence[float | None]) -> Board:
    """A board on which model m<i> has these scores, None where it failed."""
    attempts = [
        attempt(
            f"{number}-{problem}", model=f"m{number}", problem=f"p{problem:02}", score=score,
            status=Status.WRONG if score is None else Status.PASSED,
        )
        for number, scores in enumerate(models)
        for problem, score in enumerate(scores)
    ]  # fmt: skip
    return board(config(*(f"p{n:02}" for n in range(len(models[0])))), attempts)


def standing_of(made: Sequence[Standing], model: str) -> Standing:
    [found] = [standing for standing in made if standing.contender.model == model]
    return found


# Wilson's interval.


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [  # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_are_those_that_were_published(
    count: int, of: int, low: float, high: float
) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=0.00005)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_ends_of_wilson_s_interval_are_where_the_score_test_just_rejects(
    pair: tuple[int, int],
) -> None:
    count, of = pair
    ends = wilson(count, of)
    assert ends
    for end in ends:
        assert 0 <= end <= 1
        distance = abs(count / of - end)
        assert isclose(distance, Z * sqrt(end * (1 - end) / of), abs_tol=1e-9)


@given(st.integers(1, 100).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_s_interval_is_the_same_seen_from_the_failures(pair: tuple[int, int]) -> None:
    count, of = pair
    one, other = wilson(count, of), wilson(of - count, of)
    assert one
    assert other
    assert one == pytest.approx((1 - other[1], 1 - other[0]), abs=1e-12)


def test_nothing_of_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None


def test_the_normal_point_is_that_of_the_standard_library() -> None:
    assert pytest.approx(statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2), abs=1e-15) == Z


# The mean and its standard error.


@given(st.lists(st.floats(-1, 2), min_size=2, max_size=30))
def test_the_standard_error_is_that_of_the_standard_library(figures: list[float]) -> None:
    expected = statistics.stdev(figures) / sqrt(len(figures))

    assert standard_error(figures) == pytest.approx(expected, abs=1e-12)


def test_equal_scores_have_no_error_at_all() -> None:
    assert [standard_error([0.1] * size) for size in range(2, 30)] == [0.0] * 28


def test_one_problem_has_no_standard_error() -> None:
    assert standard_error([]) is None
    assert standard_error([0.5]) is None


def test_a_cell_without_a_score_counts_nothing_and_is_told() -> None:
    scores = [attempt("a", problem="p", score=0.6), attempt("b", problem="q")]
    spoilt = [attempt("c", problem="r", status=Status.INFRA, score=0.9)]
    [made] = standings(board(config("p", "q", "r", "s"), scores + spoilt))

    assert made.mean == pytest.approx(0.15)
    assert (made.attempted, made.unscored) == (2, 1)
    assert made.passed == Proportion(count=2, of=2, interval=wilson(2, 2))


@pytest.mark.parametrize("score", [1e300, -1e300, float("inf"), float("nan"), 5e-324])
def test_absurd_scores_break_nothing(score: float) -> None:
    made = standings(deck_of([score] * 7, [0.5] * 7))

    assert all(standing.mean is not None and abs(standing.mean) <= 10**6 for standing in made)


# The bootstrap.


def share_not_ahead(differences: Sequence[int]) -> float:
    """Of all decks that can be drawn, each as likely as the others, how many put it not ahead."""
    size = len(differences)
    drawn = product(differences, repeat=size)
    return sum(sum(deck) <= 0 for deck in drawn) / float(size**size)


@pytest.mark.parametrize(
    "differences",
    [[9, 9, 9, -1, 5, 5], [9, 9, -9, 5, 5, -1], [9, -3, 4, -5, 6, 1], [5, 5, 5, 5, 5, 5],
     [8, -4, 8, -4, 8, 1], [1, 2, 3, 4, -3, 2]],
)  # fmt: skip
def test_the_bootstrap_agrees_with_every_deck_that_can_be_drawn(differences: list[int]) -> None:
    share = share_not_ahead(differences)
    limit = (1 - CONFIDENCE) / 2
    doubt = 4 * sqrt(limit * (1 - limit) / RESAMPLES)
    # Otherwise this would be a test of the seed.
    assert abs(share - limit) > doubt

    assert bool(told_apart([differences, [0] * len(differences)])) == (share < limit)


@pytest.mark.parametrize("size", [6, 9, 20])
def test_the_bootstrap_agrees_with_the_binomial_for_wins_and_losses(size: int) -> None:
    limit = (1 - CONFIDENCE) / 2
    for wins in range(size // 2 + 1, size + 1):
        # Of `size` draws with a chance of wins/size each, no more than half are wins.
        chance = wins / size
        share = sum(
            comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(size // 2 + 1)
        )
        if abs(share - limit) > 4 * sqrt(limit * (1 - limit) / RESAMPLES):
            rows = [[1] * wins + [-1] * (size - wins), [0] * size]
            assert bool(told_apart(rows)) == (share < limit), wins


def test_what_is_hard_for_all_tells_nobody_apart_and_hides_nothing() -> None:
    hard = [1, 100, 3, 900, 5, 600, 7, 80]
    a_little_better = [score + 1 + place % 2 for place, score in enumerate(hard)]

    assert told_apart([a_little_better, hard]) == {(0, 1)}


@pytest.mark.parametrize("differing", range(10))
def test_few_problems_tell_nobody_apart(differing: int) -> None:
    rows = [[5] * differing + [1] * (10 - differing), [1] * 10]

    assert bool(told_apart(rows)) == (differing >= FEWEST_DIFFERENCES)


def test_the_fewest_differences_are_the_fewest_that_a_sign_test_could_decide() -> None:
    least = [2 / 2**size for size in (FEWEST_DIFFERENCES - 1, FEWEST_DIFFERENCES)]

    assert least[0] > 1 - CONFIDENCE >= least[1]


@given(st.lists(st.lists(SCORES, min_size=7, max_size=7), min_size=2, max_size=5))
@settings(max_examples=10, deadline=None)
def test_nobody_is_told_apart_from_a_twin(rows: list[list[int]]) -> None:
    best_first = sorted([*rows, rows[0]], key=sum, reverse=True)
    twins = [place for place, row in enumerate(best_first) if row == rows[0]]

    assert not told_apart(best_first) & set(combinations(twins, 2))


def test_equals_are_rarely_told_apart() -> None:
    draw = random.Random(1)
    trials = 200
    wrong = 0
    for _ in range(trials):
        rows = [[draw.randrange(1000) for _ in range(20)] for _ in range(2)]
        wrong += bool(told_apart(sorted(rows, key=sum, reverse=True)))

    # The bootstrap of 20 problems is a little short of its 95 %: 12 % would be a mistake in it.
    assert wrong / trials < 0.12


# Letters and ranks.


def pairs(size: int) -> st.SearchStrategy[frozenset[tuple[int, int]]]:
    return st.frozensets(st.sampled_from(list(combinations(range(size), 2))))


@given(st.integers(2, 9).flatmap(lambda size: st.tuples(st.just(size), pairs(size))))
def test_two_share_a_group_just_where_they_are_not_told_apart(
    case: tuple[int, frozenset[tuple[int, int]]],
) -> None:
    size, ahead = case
    groups = letter_groups(size, ahead)

    assert set().union(*groups) == set(range(size))
    assert len(set(groups)) == len(groups)
    for pair in combinations(range(size), 2):
        assert any(set(pair) <= group for group in groups) == (pair not in ahead)


def test_letters_go_from_the_best_down() -> None:
    chain = frozenset({(0, 2), (0, 3), (1, 3)})

    assert letter_groups(4, chain) == [{0, 1}, {1, 2}, {2, 3}]
    assert letter_groups(3, frozenset()) == [{0, 1, 2}]
    assert letter_groups(3, frozenset({(0, 1), (0, 2), (1, 2)})) == [{0}, {1}, {2}]
    assert letter_groups(0, frozenset()) == []


@pytest.mark.parametrize(
    ("groups", "letters"), [((0,), "a"), ((1, 2), "bc"), ((25, 26, 53), "za1b2"), ((), "")]
)
def test_groups_are_written_as_letters(groups: tuple[int, ...], letters: str) -> None:
    [made] = standings(deck_of([0.5]))
    changed = Standing(
        contender=made.contender, attempted=1, unscored=0, mean=0.5, error=None, ranks=(1, 1),
        groups=groups, passed=made.passed,
    )  # fmt: skip

    assert changed.letters == letters


def test_only_so_many_groups_are_shown_of_who_is_in_hundreds() -> None:
    [made] = standings(deck_of([0.5]))
    many = structs.replace(made, groups=tuple(range(245)))

    assert many.brief == "abcdefgh… 245 groups"
    assert structs.replace(made, groups=tuple(range(8))).brief == "abcdefgh"


def test_a_clear_order_gives_everybody_a_rank_and_a_letter() -> None:
    made = standings(deck_of([0.1] * 8, [0.9] * 8, [0.5] * 8))

    assert [(s.contender.model, s.ranks, s.letters) for s in made] == [
        ("m1", (1, 1), "a"), ("m2", (2, 2), "b"), ("m0", (3, 3), "c")
    ]  # fmt: skip


def test_ties_are_ties() -> None:
    made = standings(deck_of([0.5] * 8, [0.5] * 8, [None] * 8))

    assert standing_of(made, "m0").ranks == standing_of(made, "m1").ranks == (1, 2)
    assert standing_of(made, "m0").letters == standing_of(made, "m1").letters == "a"
    assert standing_of(made, "m2").ranks == (3, 3)
    assert standing_of(made, "m2").passed == Proportion(count=0, of=8, interval=wilson(0, 8))


def test_standings_follow_the_order_of_the_rows_and_not_of_the_means() -> None:
    # The board puts more passes first; the mean is a matter of its own.
    made = deck_of([0.9, 0.9, None], [0.1, 0.1, 0.1])

    assert [standing.contender for standing in standings(made)] == [
        row.contender for row in made.rows
    ]
    assert [standing.contender.model for standing in standings(made)] == ["m1", "m0"]


@given(
    st.lists(st.lists(st.none() | st.floats(0, 1), min_size=6, max_size=6), min_size=1, max_size=5)
)
@settings(max_examples=15, deadline=None)
def test_ranks_and_groups_say_the_same(scores: list[list[float | None]]) -> None:
    made = standings(deck_of(*scores))
    for one in made:
        ties = sum(bool(set(one.groups) & set(other.groups)) for other in made)
        low, high = one.ranks

        assert 1 <= low <= high <= len(made)
        assert high - low + 1 == ties


def test_the_same_runs_make_the_same_standings() -> None:
    made = deck_of([0.5, 0.4, 0.3, 0.6, 0.1, 0.2, 0.7], [0.4, 0.5, 0.2, 0.3, 0.1, 0.3, 0.2])

    assert standings(made) == standings(made)


def test_an_empty_board_has_no_standings() -> None:
    assert standings(board(config(), [])) == ()
    assert standings(board(config("p"), [])) == ()
