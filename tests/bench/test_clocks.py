"""Clocks that agree as honest ones do, and clocks that were tampered with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.clocks import disagreeing
from bench.devices.device import Agreement
from kbsite.model.grade import Clocks

GPU = Agreement(relative=0.02, absolute_ms=0.003)


def clocks(
    event: float,
    wall: float,
    slope: float,
    host: float | None = None,
    overhead: float = 0.02,
    inside: float | None = None,
) -> Clocks:
    return Clocks(
        event_ms=event,
        wall_ms=wall,
        slope_ms=slope,
        event_slope_ms=inside,
        overhead_ms=overhead,
        host_ms=host,
    )


@pytest.mark.parametrize(
    "honest",
    [
        clocks(1.0, 1.0, 1.0),
        clocks(1.0, 1.019, 1.0),
        clocks(1.0, 1.0, 1.019),
        clocks(1.0, 1.0, 1.0, inside=0.99),
        clocks(1.0, 1.0, 1.15, inside=1.15),  # back to back, at the power limit
        clocks(0.030, 0.090, 0.090, host=0.090, inside=0.040),
        clocks(0.010, 0.0129, 0.010),  # the launch of a short kernel jitters
        clocks(0.200, 0.185, 0.190),  # launching was taken off the parent's clock, and hidden
        clocks(0.200, 0.200, 0.185),  # a batch launches one call while another runs
        clocks(0.040, 0.090, 0.090, host=0.090),  # many small launches: bound by the host
        clocks(0.040, 0.041, 0.090, host=0.090),
        clocks(0.100, 0.100, 0.060, host=0.050),  # host and device work beside each other
        clocks(1.0, 1.0, 0.5),  # alone it starts with cold caches
        clocks(0.005, -0.002, 0.004),  # all of an empty call is more than this kernel
    ],
)
def test_honest_clocks_agree(honest: Clocks) -> None:
    assert disagreeing(honest, GPU) is None


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (clocks(0.7, 1.0, 1.0), "1 ms by the parent's clock, but only 0.7 ms"),
        (clocks(0.97, 1.0, 1.0), "by the clock in the solution's process"),
        (clocks(0.0, 1.0, 1.0), "by the clock in the solution's process"),
        (clocks(1.0, 0.5, 1.0), "1 ms by the clock in the solution's process, but only 0.5 ms"),
        (clocks(0.5, 0.5, 1.0), "1 ms in a batch, but only 0.5 ms alone"),
        (clocks(1.0, 1.0, 1.0, inside=0.7), "A call in a batch takes 1 ms by the parent's clock"),
        (clocks(1.0, 1.0, 1.0, inside=1.1), "A call in a batch takes 1.1 ms by the clock in the"),
        (clocks(1.0, 1.0, 1.3, inside=1.3), "1.3 ms in a batch, but only 1 ms alone"),
        (clocks(1.0, 1.0, 1.0, inside=float("nan")), "no number"),
        (clocks(0.5, 0.5, 1.0, host=0.4), "in a batch"),
        (clocks(float("nan"), 1.0, 1.0), "no number"),
        (clocks(1.0, 1.0, float("inf")), "no number"),
    ],
)
def test_a_clock_that_was_tampered_with_is_told(forged: Clocks, words: str) -> None:
    said = disagreeing(forged, GPU)

    assert said is not None
    assert words in said


def test_single_calls_may_be_apart_by_what_the_parents_clock_is_late() -> None:
    late = replace(GPU, late_ms=0.05)

    assert disagreeing(clocks(0.3, 0.345, 0.3), late) is None
    assert disagreeing(clocks(0.3, 0.355, 0.3), late) is not None
    assert disagreeing(clocks(0.3, 0.3, 0.31, inside=0.3), late) is not None


@pytest.mark.parametrize("factor", [0.95, 0.9, 0.5, 0.01])
@pytest.mark.parametrize("ms", [0.1, 0.3, 5.0])
def test_an_event_clock_that_shrinks_by_5_percent_is_seen_from_100_us_on(
    factor: float, ms: float
) -> None:
    assert disagreeing(clocks(ms, ms, ms), GPU) is None
    assert disagreeing(clocks(factor * ms, ms, ms), GPU) is not None


@given(st.floats(0.001, 1e3), st.floats(0, 0.0099), st.floats(0, 0.0099), st.floats(0, 0.0099))
def test_clocks_within_one_percent_agree_whatever_they_show(
    ms: float, one: float, two: float, three: float
) -> None:
    apart = clocks(ms * (1 - one), ms * (1 - two), ms * (1 - three), overhead=0)

    assert disagreeing(apart, GPU) is None
    assert apart.disagreement <= 0.01


@pytest.mark.parametrize(
    ("held", "apart"),
    [
        (clocks(1.0, 1.25, 7.0), 0.2),
        (clocks(1.25, 1.0, 7.0), 0.2),
        (clocks(1.0, 1.25, 2.0, inside=2.0), 0.2),
        (clocks(1.0, 1.25, 2.0, inside=1.0), 0.5),
        (clocks(0.0, 0.0, 0.0), 0.0),
    ],
)
def test_clocks_are_apart_by_a_share_of_the_slower_one_over_the_same_calls_at_worst(
    held: Clocks, apart: float
) -> None:
    assert held.disagreement == pytest.approx(apart)
