"""An output is right if every element of it is, and what is said of it is so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from bench.numerics import FAR, SAMPLE, Compared, compare
from kbsite.model.grade import Outcome
from kbsite.model.problem import Bound

NAN, INF = float("nan"), float("inf")
EXACT = Bound()
LOOSE = Bound(rms=0.01, relative=0.01)
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn]
INTEGERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def indexed(indices: Sequence[int], right: Sequence[int], bound: Bound = EXACT) -> Compared:
    """Indices into 5, 7, 7, 1, held against the right ones."""
    pointed = numbers(5, 7, 7, 1).reshape(1, 4)
    into = Bound(rms=bound.rms, relative=bound.relative, indices_into="x")
    return compare("best", torch.tensor([indices]), torch.tensor([right]), into, pointed)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_the_reference_rounds_to_is_right(dtype: torch.dtype) -> None:
    r = normal(64, 33)
    y = r.to(dtype)

    found = compare("y", y, r, Bound(rms=0.02, relative=0.07))

    assert found.outcome is None
    assert 0 <= found.error.largest <= 1
    assert compare("y", y, y.float(), EXACT).outcome is None


@settings(max_examples=150, deadline=None)
@given(
    dtype=st.sampled_from(FLOATS + INTEGERS),
    rows=st.integers(1, 9),
    columns=st.integers(1, 40),
    chunk=st.integers(1, 70),
    exact=st.booleans(),
    data=st.data(),
)
def test_one_wrong_element_is_found_at_any_place(
    dtype: torch.dtype, rows: int, columns: int, chunk: int, exact: bool, data: st.DataObject
) -> None:
    y = (normal(rows, columns) * 2).to(dtype)
    r = y.double() if dtype.is_floating_point else y.long()
    at = data.draw(st.integers(0, rows * columns - 1))
    bound = EXACT if exact else LOOSE
    before = compare("y", y, r, bound, chunk=chunk)
    wrong = y.clone()
    # Not assigned in place: not every operation knows the formats of 8 bits.
    wrong.view(torch.uint8)[at // columns, (at % columns + 1) * y.element_size() - 1] ^= 1 << 6

    found = compare("y", wrong, r, bound, chunk=chunk)

    assert before.outcome is None
    assert found.outcome in {Outcome.INCORRECT, Outcome.NONFINITE}
    assert found.error.largest > 1
    assert f"y[{at // columns}, {at % columns}]" in found.detail
    assert f"1 of {rows * columns} elements" in found.detail


@settings(max_examples=60, deadline=None)
@given(chunk=st.integers(1, 200), seed=st.integers(0, 99))
def test_chunks_change_no_figure(chunk: int, seed: int) -> None:
    r = normal(11, 13, seed=seed)
    y = r + 0.01 * normal(11, 13, seed=seed + 1)

    found, whole = compare("y", y, r, LOOSE, chunk=chunk), compare("y", y, r, LOOSE)

    assert found.outcome is whole.outcome
    assert found.error.largest == pytest.approx(whole.error.largest, rel=1e-6)
    assert found.error.typical == pytest.approx(whole.error.typical, rel=1e-6)
    assert found.detail == whole.detail or found.outcome is None


def test_the_bound_is_the_sum_of_both_parts_and_reaches_to_its_edge() -> None:
    r = numbers(3, -4, 0, 5)
    rms = (50 / 4) ** 0.5
    allowed = 0.1 * rms + 0.01 * r.abs()

    inside = compare("y", r + 0.999 * allowed, r, Bound(rms=0.1, relative=0.01))
    outside = compare("y", r - 1.001 * allowed, r, Bound(rms=0.1, relative=0.01))

    assert inside.outcome is None
    assert inside.error.largest == pytest.approx(0.999, rel=1e-5)
    assert outside.outcome is Outcome.INCORRECT
    assert outside.error.largest == pytest.approx(1.001, rel=1e-5)
    assert "4 of 4" in outside.detail


def test_the_worst_element_is_named_with_what_was_expected() -> None:
    r = numbers(1, 2, 3, 4).reshape(2, 2)
    y = numbers(1, 2.5, 3, 6).reshape(2, 2)

    found = compare("out", y, r, Bound(relative=0.1))

    assert found.detail == (
        "out[1, 1]: got 6, expected 4 within 0.4, off by 5 bounds; 2 of 4 elements are off."
    )


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1, 1e15, 1e30])
def test_sizes_of_numbers_do_not_matter(scale: float) -> None:
    r = normal(500).double()
    r = (r * scale).float()

    near = compare("y", r * 1.001, r, Bound(rms=0.001, relative=0.001))
    off = compare("y", r * 1.02, r, Bound(rms=0.001, relative=0.001))

    assert near.outcome is None
    assert near.error.typical == pytest.approx(0.001, rel=1e-2)
    assert off.outcome is Outcome.INCORRECT


@pytest.mark.parametrize("bound", [EXACT, LOOSE, Bound(rms=1e6, relative=1e6)])
@pytest.mark.parametrize(
    ("got", "wanted", "outcome"),
    [
        (NAN, NAN, None), (INF, INF, None), (-INF, -INF, None),
        (NAN, 1, Outcome.NONFINITE), (INF, 1, Outcome.NONFINITE), (-INF, 1, Outcome.NONFINITE),
        (NAN, 0, Outcome.NONFINITE),
        (1, NAN, Outcome.INCORRECT), (1, INF, Outcome.INCORRECT), (0, NAN, Outcome.INCORRECT),
        (INF, -INF, Outcome.INCORRECT), (NAN, INF, Outcome.INCORRECT),
        (INF, NAN, Outcome.INCORRECT),
    ],
)  # fmt: skip
def test_what_is_not_finite_has_to_be_the_same(
    bound: Bound, got: float, wanted: float, outcome: Outcome | None
) -> None:
    found = compare("y", numbers(2, got, 3), numbers(2, wanted, 3), bound)

    assert found.outcome is outcome
    assert found.error.largest == (0 if outcome is None else pytest.approx(FAR))
    assert ("y[1]" in found.detail) is (outcome is not None)


def test_the_scale_is_that_of_the_finite_elements() -> None:
    r = numbers(1, -1, INF, NAN)

    right = compare("y", numbers(1.009, -1, INF, NAN), r, Bound(rms=0.01))
    wrong = compare("y", numbers(1.011, -1, INF, NAN), r, Bound(rms=0.01))

    assert right.outcome is None
    assert wrong.outcome is Outcome.INCORRECT
    assert right.error.typical == pytest.approx(0.009 / 2**0.5, rel=1e-3)


def test_a_number_where_nan_is_expected_is_not_hidden_by_another_fault() -> None:
    found = compare("y", numbers(INF, 1), numbers(NAN, NAN), LOOSE)

    assert found.outcome is Outcome.INCORRECT
    assert "2 of 2" in found.detail


def test_a_reference_of_zeros_is_met_by_zeros_only() -> None:
    r = torch.zeros(8)

    assert compare("y", torch.zeros(8), r, LOOSE).outcome is None
    assert compare("y", -torch.zeros(8), r, LOOSE).outcome is None
    assert compare("y", torch.full((8,), 1e-30), r, LOOSE).outcome is Outcome.INCORRECT


def test_under_a_bound_of_zeros_every_bit_counts() -> None:
    r = numbers(0.0, 1.0, NAN)

    assert compare("y", r.clone(), r, EXACT).outcome is None
    assert compare("y", numbers(-0.0, 1.0, NAN), r, EXACT).outcome is Outcome.INCORRECT
    near = torch.nextafter(r, numbers(2, 2, 2))
    assert compare("y", numbers(0.0, float(near[1]), NAN), r, EXACT).outcome is Outcome.INCORRECT


def test_the_reference_is_rounded_to_the_format_it_has_to_equal() -> None:
    r = numbers(1 / 3, 2 / 3)

    assert compare("y", r.to(torch.bfloat16), r, EXACT).outcome is None
    assert compare("y", r.to(torch.float8_e4m3fn), r, EXACT).outcome is None


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_exact_whatever_the_bound_says(dtype: torch.dtype) -> None:
    r = torch.tensor([0, 1, 1, 0])
    y = r.to(dtype)

    assert compare("y", y, r, LOOSE).outcome is None
    wrong = torch.tensor([0, 1, 1, 1]).to(dtype)
    found = compare("y", wrong, r, Bound(rms=100, relative=100))
    assert found.outcome is Outcome.INCORRECT
    assert found.detail.startswith("y[3]: got 1, expected exactly 0;")


def test_wide_integers_keep_their_last_digit() -> None:
    r = torch.tensor([2**60 + 1])

    assert compare("y", torch.tensor([2**60]), r, EXACT).outcome is Outcome.INCORRECT
    assert str(2**60 + 1) in compare("y", torch.tensor([2**60]), r, EXACT).detail
    low = torch.tensor([1], dtype=torch.int32)
    assert compare("y", low, torch.tensor([2**32 + 1]), EXACT).outcome is Outcome.INCORRECT


def test_a_bool_of_two_is_no_bool() -> None:
    y = torch.tensor([1, 2], dtype=torch.uint8).view(torch.bool)

    assert compare("y", y, torch.tensor([True, True]), EXACT).outcome is Outcome.INCORRECT


def test_a_whole_less_precise_than_its_worst_element_shows_is_a_matter_of_precision() -> None:
    r = normal(4000)
    bound = Bound(rms=0.05, relative=0.0, typical=0.002)

    precise = compare("y", r * 1.001, r, bound)
    coarse = compare("y", r * 1.003, r, bound)

    assert precise.outcome is None
    assert precise.error.typical == pytest.approx(0.001, rel=1e-3)
    assert coarse.error.largest < 1
    assert coarse.outcome is Outcome.PRECISION
    assert "0.003 of the reference's RMS, expected at most 0.002" in coarse.detail


def test_quantiles_are_shares_that_so_many_elements_stay_within() -> None:
    r = torch.ones(1000)
    share = torch.arange(1, 1001) / 1000
    y = r + 0.1 * share[torch.randperm(1000, generator=torch.Generator().manual_seed(1))]

    found = compare("y", y, r, Bound(relative=0.1)).error

    assert found.quantiles["0.5"] == pytest.approx(0.5, abs=0.003)
    assert found.quantiles["0.99"] == pytest.approx(0.99, abs=0.003)
    assert found.quantiles["0.999"] == pytest.approx(0.999, abs=0.003)


@pytest.mark.parametrize("columns", [512, 1000, 4096])
def test_quantiles_of_a_large_output_miss_no_column(columns: int) -> None:
    r = torch.ones(2**21 // columns, columns)
    y = r.clone()
    y[:, 7 :: columns // 8] += 0.05  # 8 columns, a place that a sample of rows hits or misses
    affected = y.ne(r).double().mean().item()

    found = compare("y", y, r, Bound(relative=0.1)).error

    assert affected > 0.001
    assert found.quantiles["0.999"] == pytest.approx(0.5, rel=1e-3)
    assert found.quantiles["0.5"] == 0


@pytest.mark.parametrize("indices", [[1, 0], [2, 0]])
def test_ties_may_be_broken_either_way(indices: list[int]) -> None:
    assert indexed(indices, [1, 0]).outcome is None


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([0, 1], "best[0, 0]: points into x at 5, expected exactly 7"),
        ([3, 0], "best[0, 0]: points into x at 1, expected exactly 7"),
        ([1, 1], "best[0]: the index 1 comes more than once"),
        ([1, 4], "best[0, 1]: got the index 4, expected 0 to 3"),
        ([-1, 0], "best[0, 0]: got the index -1, expected 0 to 3"),
    ],
)
def test_an_index_that_is_wrong_is_told(indices: list[int], words: str) -> None:
    found = indexed(indices, [1, 0])

    assert found.outcome is Outcome.INCORRECT
    assert words in found.detail


def test_what_indices_point_at_may_be_as_far_off_as_the_bound_says() -> None:
    assert indexed([0, 1], [1, 0], Bound(relative=0.5)).outcome is None
    assert indexed([3, 1], [1, 0], Bound(relative=0.5)).outcome is Outcome.INCORRECT


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("of", [torch.int32, torch.int64, torch.uint8])
def test_indices_point_into_any_format(dtype: torch.dtype, of: torch.dtype) -> None:
    pointed = (normal(3, 4, 16) * 8).to(dtype)
    right = pointed.float().argsort(dim=-1, descending=True)[..., :5]
    wrong = right.clone()
    wrong[2, 1, 0] = pointed.float()[2, 1].argmin()
    bound = Bound(indices_into="x")

    assert compare("i", right.to(of), right, bound, pointed).outcome is None
    found = compare("i", wrong.to(of), right, bound, pointed)
    assert found.outcome is Outcome.INCORRECT
    assert found.detail.startswith("i[2, 1, 0]")


def test_shapes_that_do_not_fit_are_the_callers_mistake() -> None:
    ones, into = torch.ones(2, 3), Bound(indices_into="x")
    with pytest.raises(ValueError, match=r"y: expected the shape \(3, 2\), got \(2, 3\)"):
        compare("y", ones, torch.ones(3, 2), LOOSE)
    with pytest.raises(ValueError, match="if, and only if"):
        compare("y", ones, ones, LOOSE, pointed=ones)
    with pytest.raises(ValueError, match="if, and only if"):
        compare("y", ones.long(), ones.long(), into)
    with pytest.raises(ValueError, match="do not fit rows"):
        compare("y", ones.long(), ones.long(), into, torch.ones(4, 9))


def test_one_number_and_none_are_outputs_too() -> None:
    one = torch.tensor(2.0)

    assert compare("y", one, one, LOOSE).outcome is None
    wrong = compare("y", one, one + 1, LOOSE)
    assert wrong.detail.startswith("y: got 2, expected 3 within 0.06")
    assert compare("y", torch.ones(0, 4), torch.ones(0, 4), LOOSE).outcome is None


class Waits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that bring a number from the device to the host."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func.__name__
        self.count += name.startswith(("_local_scalar_dense", "item", "nonzero", "equal."))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("bound", [EXACT, LOOSE, Bound(rms=0.1, typical=0.1)])
def test_a_right_output_asks_the_device_for_no_single_number(bound: Bound) -> None:
    r = normal(1000)
    with Waits() as waits:  # type: ignore[no-untyped-call]
        assert compare("y", r, r, bound, chunk=100).outcome is None
    with Waits() as wrong:  # type: ignore[no-untyped-call]
        assert compare("y", r + 1, r, bound, chunk=100).outcome is Outcome.INCORRECT

    assert waits.count == 0
    assert wrong.count > 0


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the size of the largest tensor that was made anew, in elements."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and not func.is_view:
            self.elements = max(self.elements, made.numel())
        return made


@pytest.mark.parametrize("bound", [EXACT, LOOSE])
def test_no_more_than_a_chunk_is_worked_on_at_a_time(bound: Bound) -> None:
    r = normal(100, 500)
    for y, outcome in ((r, None), (r + 1, Outcome.INCORRECT)):
        with Largest() as largest:  # type: ignore[no-untyped-call]
            assert compare("y", y, r, bound, chunk=1000).outcome is outcome

        # All elements of a small output are kept for its quantiles.
        assert 1000 <= largest.elements <= r.numel()
    large = normal(3 * SAMPLE)
    with Largest() as largest:  # type: ignore[no-untyped-call]
        compare("y", large, large, bound, chunk=SAMPLE // 4)

    assert largest.elements <= 2 * SAMPLE


def test_what_is_compared_stays_as_it_is() -> None:
    r = normal(100)
    y = r * 1.1
    kept = y.clone(), r.clone()

    compare("y", y, r, LOOSE, chunk=7)

    assert torch.equal(y, kept[0])
    assert torch.equal(r, kept[1])
