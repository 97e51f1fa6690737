"""Numbers in the next lower format are as near as that format has them, and no nearer."""

from __future__ import annotations

import math

import pytest
import torch

from bench.lint.lower import NAMES, lowered
from bench.problems import torch_dtype
from kbsite.model.problem import Dtype


def normal(*sizes: int, dtype: Dtype = Dtype.FP32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    drawn = torch.randn(*sizes, generator=generator, dtype=torch.float64)
    return drawn.to(torch_dtype(dtype))


def error(dtype: Dtype) -> float:
    """RMS of the error that rounding makes, as a share of the RMS of what is rounded."""
    values = normal(64, 256, dtype=dtype)
    difference = lowered(values, dtype).double() - values.double()
    return math.sqrt(float((difference**2).mean() / (values.double() ** 2).mean()))


# Half a step of the lower format, uniformly spread: 2**-(bits + 1) / sqrt(3), within a factor 2.
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [(Dtype.FP64, 24), (Dtype.FP32, 11), (Dtype.FP16, 4), (Dtype.BF16, 4), (Dtype.FP8_E4M3, 2)],
)
def test_what_is_lost_is_what_the_lower_format_cannot_hold(dtype: Dtype, bits: int) -> None:
    step = 2.0**-bits / math.sqrt(3)
    assert step / 3 < error(dtype) < step


@pytest.mark.parametrize("dtype", NAMES)
def test_shape_and_format_stay_and_rounding_twice_is_rounding_once(dtype: Dtype) -> None:
    values = normal(3, 50, dtype=dtype)
    once = lowered(values, dtype)
    assert (once.shape, once.dtype) == (values.shape, values.dtype)
    again = lowered(once, dtype).double()
    assert torch.allclose(again, once.double(), rtol=0.02, atol=0)
    assert not torch.equal(once.double(), values.double())


def test_rounding_to_tf32_is_to_the_nearest() -> None:
    values = torch.tensor([1.0, 1 + 2**-11, 1 + 2**-10, -1 - 3 * 2**-11, 3e38, float("inf")])
    assert lowered(values, Dtype.FP32).tolist()[:4] == [1.0, 1 + 2**-10, 1 + 2**-10, -1 - 2**-9]
    assert lowered(values, Dtype.FP32).isfinite().tolist() == [True] * 5 + [False]


def test_whole_numbers_and_zeros_stay() -> None:
    whole = torch.arange(10)
    assert lowered(whole, Dtype.INT64) is whole
    for dtype in NAMES:
        zeros = torch.zeros(2, 40, dtype=torch_dtype(dtype))
        assert torch.equal(lowered(zeros, dtype).double(), zeros.double())
        assert lowered(torch.ones((), dtype=torch_dtype(dtype)), dtype).double() == 1.0


def test_every_row_has_a_scale_of_its_own() -> None:
    values = normal(2, 64, dtype=Dtype.BF16)
    values[1] *= 2.0**-20
    apart = lowered(values, Dtype.BF16)
    assert torch.equal(apart[1], lowered(values[1:], Dtype.BF16)[0])
    assert (apart[1] != 0).all()
