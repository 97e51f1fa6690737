"""Times and their intervals: covering what is true, and never shorter for a clock that lies."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.model.grade import Clocks
from kbsite.model.timing import RoundTimes, Times, estimate

ROUNDS, CALLS, SHAPES = 5, 100, 3


def round_times(
    base: float, random: np.random.Generator, calls: int = CALLS, noise: float = 0.01
) -> RoundTimes:
    """A round of a process that is as fast as `base`, with outliers, as honest clocks see it."""
    event = base * np.exp(random.normal(0, noise, calls))
    event[random.random(calls) < noise] *= 1.3
    return RoundTimes(
        event_ms=event,
        wall_ms=event * np.exp(random.normal(0.001, noise / 5, calls)),
        slope_ms=base * np.exp(random.normal(0, noise / 2, 10)),
        overhead_ms=0.02,
    )


def grading(
    random: np.random.Generator, common: float, own: float, rounds: int = ROUNDS
) -> list[list[RoundTimes]]:
    """Rounds of all shapes; processes differ by `common` on all of them, and by `own` on each."""
    process = random.normal(0, common, rounds)
    return [
        [round_times(np.exp(one + random.normal(0, own)), random) for one in process]
        for _ in range(SHAPES)
    ]


def steady(ms: float, calls: int = 4, host_ms: float | None = None) -> RoundTimes:
    """A round without any noise."""
    same = [ms] * calls
    return RoundTimes(
        event_ms=same, wall_ms=same, slope_ms=same[:2], overhead_ms=0.1, host_ms=host_ms
    )


@pytest.mark.parametrize(("common", "own"), [(0.005, 0), (0, 0.005), (0.002, 0.002)])
def test_intervals_cover_what_many_rounds_come_to(common: float, own: float) -> None:
    random = np.random.default_rng([int(common * 1e4), int(own * 1e4)])
    truth = estimate(grading(random, common, own, rounds=201), seed=0, draws=2)
    of_shape = median(shape.ms for shape in truth.shapes)

    found = [estimate(grading(random, common, own), seed=at, draws=400) for at in range(200)]

    shapes = [one.shapes[0].interval for one in found]
    assert 0.88 <= np.mean([low <= of_shape <= high for low, high in shapes]) <= 0.99
    means = [one.interval for one in found]
    assert 0.88 <= np.mean([low <= truth.ms <= high for low, high in means]) <= 0.99


def test_more_rounds_make_narrower_intervals() -> None:
    random = np.random.default_rng(3)
    widths = {}
    for rounds in (5, 20):
        found = [estimate(grading(random, 0.01, 0, rounds), seed=1, draws=500) for _ in range(20)]
        widths[rounds] = np.mean([high - low for low, high in (one.interval for one in found)])

    assert widths[20] < 0.75 * widths[5]


def test_medians_are_drawn_as_if_every_sample_were() -> None:
    samples = np.random.default_rng(5).lognormal(0, 0.3, 9)
    for calls in (samples, samples[:8]):
        one = RoundTimes(event_ms=calls, wall_ms=calls, slope_ms=[0.0], overhead_ms=0)
        found = estimate([[one]], seed=7, draws=20_000).shapes[0]
        drawn = np.median(np.random.default_rng(6).choice(calls, (20_000, len(calls))), axis=1)
        expected = np.quantile(drawn, [0.025, 0.975])

        assert found.ms == pytest.approx(np.median(calls))
        assert found.interval == pytest.approx(tuple(expected), rel=0.03)


def test_the_slowest_clock_of_a_round_is_its_time_and_the_median_round_counts() -> None:
    rounds = [
        RoundTimes(event_ms=[1], wall_ms=[2], slope_ms=[3], overhead_ms=0.1, host_ms=0.5),
        RoundTimes(
            event_ms=[9], wall_ms=[2], slope_ms=[3], event_slope_ms=[50, 6, 7], overhead_ms=0.3
        ),
        RoundTimes(event_ms=[1, 1, 8], wall_ms=[4], slope_ms=[3, 5], overhead_ms=0.2),
    ]

    found = estimate([rounds], seed=0).shapes[0]

    assert found.ms == 4
    assert found.clocks == Clocks(
        event_ms=1, wall_ms=2, slope_ms=3, event_slope_ms=7, overhead_ms=0.2, host_ms=0.5
    )
    assert found.spread == pytest.approx(np.std([3, 9, 4], ddof=1) / np.mean([3, 9, 4]))
    assert found.interval[0] <= 4 <= found.interval[1] <= 9


def saying(one: RoundTimes, which: str, samples: list[float]) -> RoundTimes:
    """The same round, with other samples of one clock."""
    changed: dict[str, Any] = {which: samples}
    return replace(one, **changed)


times_ms = st.lists(st.floats(0.01, 1e3), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rounds=st.lists(st.tuples(times_ms, times_ms, times_ms), min_size=1, max_size=5),
    at=st.integers(0, 4),
    which=st.sampled_from(["event_ms", "wall_ms", "slope_ms"]),
    data=st.data(),
)
def test_whatever_one_clock_says_time_is_no_less_than_the_others_show(
    rounds: list[tuple[list[float], ...]], at: int, which: str, data: st.DataObject
) -> None:
    honest = [
        RoundTimes(event_ms=event, wall_ms=wall, slope_ms=slope, overhead_ms=0)
        for event, wall, slope in rounds
    ]
    at %= len(honest)
    forged = data.draw(st.lists(st.floats(-1e3, 1e6), min_size=1, max_size=6))
    longer = [3 * value + 1 for value in getattr(honest[at], which)]
    lying, silent, slower = (
        [*honest[:at], saying(honest[at], which, samples), *honest[at + 1 :]]
        for samples in (forged, [0.0], longer)
    )

    before = estimate([honest], seed=0, draws=10)
    assert estimate([slower], seed=0, draws=10).ms >= before.ms
    assert estimate([lying], seed=0, draws=10).ms >= estimate([silent], seed=0, draws=10).ms


def test_the_mean_over_shapes_is_geometric_and_fractions_follow_from_it() -> None:
    found = estimate([[steady(1.0)] * 3, [steady(4.0)] * 2], seed=0)

    assert found.ms == pytest.approx(2)
    assert found.interval == pytest.approx((2, 2))
    fraction, interval = found.fraction([0.5, 1.0])
    each = [0.5 / 1, 1 / 4]
    assert fraction == pytest.approx((each[0] * each[1]) ** 0.5)
    assert interval == pytest.approx((fraction, fraction))


def test_an_interval_of_fractions_is_that_of_times_turned_round() -> None:
    found = estimate(grading(np.random.default_rng(2), 0.02, 0.01), seed=0)

    fraction, (low, high) = found.fraction([0.5] * SHAPES)

    assert low < fraction < high
    assert low * found.interval[1] == pytest.approx(fraction * found.ms)
    assert high * found.interval[0] == pytest.approx(fraction * found.ms)


@pytest.mark.parametrize("ceilings", [[], [1.0], [1.0, 0.0], [1.0, float("nan")]])
def test_every_shape_needs_a_ceiling(ceilings: list[float]) -> None:
    found = estimate([[steady(1.0)], [steady(2.0)]], seed=0, draws=10)

    with pytest.raises(ValueError, match="expected 2 ceilings above 0"):
        found.fraction(ceilings)


def test_the_same_seed_gives_the_same_interval() -> None:
    shapes = grading(np.random.default_rng(4), 0.01, 0.01)

    assert estimate(shapes, seed=11) == estimate(shapes, seed=11)
    assert estimate(shapes, seed=11).interval != estimate(shapes, seed=12).interval


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"event_ms": []}, "shape 0, round 1: event_ms: expected at least one sample"),
        ({"wall_ms": [1.0, float("nan")]}, "round 1: wall_ms: .* numbers only"),
        ({"slope_ms": [float("-inf")]}, "round 1: slope_ms"),
        ({"event_ms": [0.0], "wall_ms": [-1.0], "slope_ms": [-0.1]}, "a time above 0"),
    ],
)
def test_samples_that_are_no_times_are_refused(changed: dict[str, list[float]], words: str) -> None:
    broken = steady(1.0)
    for which, samples in changed.items():
        broken = saying(broken, which, samples)

    with pytest.raises(ValueError, match=words):
        estimate([[steady(1.0), broken]], seed=0)


@pytest.mark.parametrize("shapes", [[], [[]], [[steady(1.0)], []]])
def test_nothing_measured_has_no_time(shapes: list[list[RoundTimes]]) -> None:
    with pytest.raises(ValueError, match="at least one shape, and one round of each"):
        estimate(shapes, seed=0)


def test_one_round_has_no_spread() -> None:
    assert estimate([[steady(1.0)]], seed=0, draws=10).shapes[0].spread is None


def test_ten_thousand_draws_cost_no_more_than_so_many_medians_of_rounds() -> None:
    """Not a time in seconds: to draw every call of every round takes a hundred times as long."""
    shapes = grading(np.random.default_rng(8), 0.01, 0.01)
    of_one_shape = np.random.default_rng(8).random((10_000, ROUNDS * CALLS))
    started = time.process_time()
    np.median(of_one_shape, axis=1)
    every_call = time.process_time() - started
    started = time.process_time()
    found: Times = estimate(shapes, seed=0)

    assert time.process_time() - started < SHAPES * every_call
    assert len(found.shapes) == SHAPES


# -- clocks that disagree ------------------------------------------------------------------------


def test_of_a_clock_that_may_be_late_only_the_rest_is_a_time() -> None:
    one = RoundTimes(event_ms=[1.0], wall_ms=[1.25], slope_ms=[1.0], overhead_ms=0.1, late_ms=0.125)

    found = estimate([[one]], seed=0, draws=10)

    assert found.ms == pytest.approx(1.125)
    assert found.shapes[0].clocks.wall_ms == 1.25


@pytest.mark.parametrize("claimed", [0.0, 0.5, 1.0, 1e9])
def test_a_lie_about_the_host_buys_no_time(claimed: float) -> None:
    shape = [
        RoundTimes(event_ms=[0.1], wall_ms=[1.0], slope_ms=[0.9], overhead_ms=0.02, host_ms=claimed)
    ]

    assert estimate([shape], seed=0, draws=10).ms == 1.0
