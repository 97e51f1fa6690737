"""How long work takes at least: by the datasheet, and by physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isclose

import pytest

from kbsite.model.hardware import (
    Accumulate,
    Figure,
    Format,
    Hardware,
    Peak,
    Unit,
    Work,
    ceiling,
    implied_mhz,
    per_clock,
    physics_floor,
    rate,
)

Key = tuple[Format, Accumulate | None]
BF16: Key = (Format.BF16, None)
FP8: Key = (Format.FP8, None)


def figure(value: float) -> Figure:
    return Figure(value=value, source="sheet")


def peak(number: Format, tflops: float | None, clock: int | None, **more: object) -> Peak:
    held: dict[str, object] = {"accumulate": None, "observed_per_clock": None, **more}
    return Peak(
        format=number, tflops=tflops, per_clock=clock, source="sheet", **held  # type: ignore[arg-type]
    )  # fmt: skip


PEAKS = (
    peak(Format.BF16, 100.0, 1000),
    peak(Format.FP16, 100.0, 1000, accumulate=Accumulate.FP32),
    peak(Format.FP16, 200.0, 2000, accumulate=Accumulate.FP16),
    peak(Format.FP8, 200.0, 2000),
    peak(Format.INT8, None, None, note="nobody says"),
)
CARD = Hardware(
    name="Card", vendor="V", architecture="A", aliases=(), unit=Unit.SM, units=figure(50),
    boost_mhz=figure(2000), maximum_mhz=figure(2500), l2_mb=None, dram_gb=None,
    dram_gb_per_second=figure(1000), power_watts=None, peaks=PEAKS, lacks=(Format.FP4,),
)  # fmt: skip


def work(flops: Mapping[Key, float], moved: float = 0.0) -> Work:
    return Work(flops, moved)


def test_a_terabyte_a_second_moves_a_gigabyte_in_a_millisecond() -> None:
    found = ceiling(CARD, work({}, 1e9))

    assert (found.ms, found.memory_ms, found.compute_ms, found.bound_by) == (1.0, 1.0, 0.0, None)


def test_a_hundred_teraflops_do_a_hundred_billion_operations_in_a_millisecond() -> None:
    found = ceiling(CARD, work({BF16: 1e11}))

    assert (found.ms, found.memory_ms, found.bound_by) == (1.0, 0.0, Format.BF16)


@pytest.mark.parametrize(
    ("flops", "moved", "ms", "bound_by"),
    [
        ({BF16: 2e11}, 1e9, 2.0, Format.BF16),
        ({BF16: 1e11}, 3e9, 3.0, None),
        ({BF16: 1e11, FP8: 6e11}, 2e9, 3.0, Format.FP8),
        ({BF16: 1e11, FP8: 1e11}, 0.0, 1.0, Format.BF16),
        ({(Format.FP16, None): 1e11}, 0.0, 1.0, Format.FP16),
        ({(Format.FP16, Accumulate.FP32): 1e11}, 0.0, 1.0, Format.FP16),
        ({(Format.FP16, Accumulate.FP16): 1e11}, 0.0, 0.5, Format.FP16),
        ({(Format.BF16, Accumulate.FP32): 1e11}, 0.0, 1.0, Format.BF16),
        ({}, 0.0, 0.0, None),
    ],
)
def test_the_term_that_takes_longest_binds(
    flops: dict[Key, float], moved: float, ms: float, bound_by: Format | None
) -> None:
    found = ceiling(CARD, work(flops, moved))

    assert (found.ms, found.bound_by) == (ms, bound_by)


def test_both_terms_are_told_whichever_binds() -> None:
    found = ceiling(CARD, work({BF16: 1e11}, 5e8))

    assert (found.compute_ms, found.memory_ms) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ((Format.FP4, None), "Card: the peak of fp4 is not known"),
        ((Format.INT8, None), "Card: the peak of int8 is not known"),
        ((Format.TF32, Accumulate.FP32), "Card: the peak of tf32 summed up in fp32 is not known"),
    ],
)
def test_a_peak_that_nobody_knows_is_named_and_never_taken_for_another(
    key: Key, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        ceiling(CARD, work({key: 1.0}))


def test_what_is_not_needed_may_be_unknown() -> None:
    bare = replace(CARD, dram_gb_per_second=None)

    assert ceiling(bare, work({BF16: 1e11, (Format.FP4, None): 0.0})).ms == 1.0
    with pytest.raises(ValueError, match="Card: dram_gb_per_second is not known"):
        ceiling(bare, work({}, 1.0))


def test_the_floor_is_at_the_highest_clock_and_below_the_ceiling() -> None:
    held = work({BF16: 1e11}, 1e8)
    floor = physics_floor(CARD, held)

    # 50 units * 2500 MHz * 1000 operations are 125 TFLOP/s.
    assert (floor.ms, floor.bound_by) == (0.8, Format.BF16)
    assert floor.ms < ceiling(CARD, held).ms


def test_what_was_observed_moves_the_floor_and_not_the_ceiling() -> None:
    faster = peak(Format.BF16, 100.0, 1000, observed_per_clock=figure(2000))
    slower = peak(Format.BF16, 100.0, 1000, observed_per_clock=figure(500))
    held = work({BF16: 1e11})

    assert physics_floor(replace(CARD, peaks=(faster,)), held).ms == 0.4
    assert physics_floor(replace(CARD, peaks=(slower,)), held).ms == 0.8
    assert ceiling(replace(CARD, peaks=(faster,)), held).ms == 1.0


def test_what_was_observed_is_enough_where_no_sheet_says_it() -> None:
    only = peak(Format.INT8, None, None, observed_per_clock=figure(2000))
    none = peak(Format.INT8, None, None)

    assert (only.most_per_clock, none.most_per_clock) == (2000, None)


def test_the_dram_s_highest_clock_counts_for_the_floor_only() -> None:
    fast = replace(CARD, maximum_dram_gb_per_second=figure(2000))

    assert physics_floor(fast, work({}, 1e9)).ms == 0.5
    assert ceiling(fast, work({}, 1e9)).ms == 1.0
    assert physics_floor(CARD, work({}, 1e9)).ms == 1.0


@pytest.mark.parametrize("gap", ["units", "maximum_mhz"])
def test_a_gap_in_the_table_calls_nobody_impossible(gap: str) -> None:
    bare = replace(CARD, **{gap: None})  # type: ignore[arg-type]

    assert physics_floor(bare, work({BF16: 1e15})).ms == 0.0
    assert physics_floor(CARD, work({(Format.FP4, None): 1e15})).ms == 0.0
    nothing = replace(bare, dram_gb_per_second=None)
    assert physics_floor(nothing, work({BF16: 1e15}, 1e15)).ms == 0.0


def test_rates_clocks_and_operations_are_one_formula() -> None:
    assert rate(132, 1830, 4096) == pytest.approx(989.4, rel=1e-3)
    assert per_clock(989.4, 132, 1830) == pytest.approx(4096, rel=1e-3)
    assert implied_mhz(989.4, 132, 4096) == pytest.approx(1830, rel=1e-3)
    assert isclose(per_clock(rate(7, 11, 13), 7, 11), 13)


def test_figures_are_told_by_key() -> None:
    held = dict(CARD.figures)

    assert held["units"] == figure(50)
    assert held["l2_mb"] is None
    assert "peaks" not in held


def test_sums_in_16_bits_are_never_the_default() -> None:
    half = replace(CARD, peaks=(peak(Format.FP16, 200.0, 2000, accumulate=Accumulate.FP16),))

    assert half.peak(Format.FP16) is None
    assert half.peak(Format.FP16, Accumulate.FP16) is half.peaks[0]
    assert half.peak(Format.FP16, Accumulate.FP32) is None
