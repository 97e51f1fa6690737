"""Floors of the Hard deck are right, and what its bounds refuse is refused.

How much room they have to spare is a rule of lint, which the deck passes at all of its shapes.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bench.floor_source import source
from bench.problems import Shape
from kbsite.model.floor import FloorKind
from tests.bench.problems.deck import IDS, baselines, call, inputs, least, problem, share, smallest

FLOORS = [(name, floor) for name in IDS for floor in ("eager", "library")]


@pytest.mark.parametrize(("name", "floor"), FLOORS)
def test_floors_are_right_for_the_least_sizes(name: str, floor: str) -> None:
    for case in problem(name).problem.cases:
        outputs = call(name, baselines(name)[floor], case, least(name))
        assert share(name, outputs, case, least(name)) <= 1, case


@pytest.mark.parametrize("name", IDS)
def test_calibrations_are_within_what_a_bound_has_to_tell(name: str) -> None:
    shortcuts = baselines(name)["SHORTCUTS"]
    for one in problem(name).problem.outputs.values():
        assert one.bound is not None
        assert one.bound.honest is not None
        assert one.bound.honest <= 0.5
        assert one.bound.cheapest is not None
        assert one.bound.cheapest > 2
        assert one.bound.cheat in shortcuts


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kind", FloorKind)
def test_each_floor_can_be_cut_out_as_a_solution(name: str, kind: FloorKind) -> None:
    text = source(problem(name).folder, kind)
    held: dict[str, object] = {"__name__": "solution"}
    exec(compile(text, "solution.py", "exec"), held)
    assert callable(held["solve"])


def _softmax(name: str, case: str) -> float:
    """How many bounds the softmax is off with one way to sum up."""
    shape = smallest("kahan_softmax")
    x = inputs("kahan_softmax", case, shape)["x"].numpy()
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    total = np.zeros(len(x), np.float32)
    match name:
        case "in order":
            total = np.add.accumulate(terms, axis=1, dtype=np.float32)[:, -1]
        case "in order, compensated":
            lost = np.zeros_like(total)
            for column in np.ascontiguousarray(terms.T):
                more = column - lost
                larger = total + more
                lost = (larger - total) - more
                total = larger
        case _:
            width = 1 << (terms.shape[1] - 1).bit_length()
            sums = np.pad(terms, ((0, 0), (0, width - terms.shape[1])))
            while sums.shape[1] > 1:
                sums = sums[:, ::2] + sums[:, 1::2]
            total = sums[:, 0]
    y = torch.from_numpy(terms / total[:, None])
    return share("kahan_softmax", {"y": y}, case, shape)


def test_a_softmax_that_sums_in_order_in_fp32_loses_the_buried_terms() -> None:
    assert _softmax("in order", "buried") > 100
    assert _softmax("in order", "ordinary") > 2


@pytest.mark.parametrize("name", ["in order, compensated", "pairwise"])
@pytest.mark.parametrize("case", problem("kahan_softmax").problem.cases)
def test_a_softmax_with_compensated_or_pairwise_sums_passes(name: str, case: str) -> None:
    assert _softmax(name, case) <= 0.5


def test_torch_softmax_loses_the_buried_terms_so_that_it_is_no_floor() -> None:
    shape = problem("kahan_softmax").shapes("cpu")[0]
    x = inputs("kahan_softmax", "buried", shape)["x"]
    assert share("kahan_softmax", {"y": torch.softmax(x, dim=1)}, "buried", shape) > 2


@pytest.mark.parametrize("case", problem("fp8_gemm").problem.cases)
def test_fp8_products_may_be_summed_with_fourteen_bits_as_hopper_does(case: str) -> None:
    shape = Shape("narrow", {"M": 64, "N": 64, "K": 1024})
    drawn = inputs("fp8_gemm", case, shape)
    x, w = drawn["x"].double(), drawn["w"].double()
    total = torch.zeros(len(x), len(w), dtype=torch.float64)
    for start in range(0, x.shape[1], 32):
        part = x[:, start : start + 32] @ w[:, start : start + 32].T
        larger = torch.maximum(total.abs(), part.abs()).clamp(min=1e-30)
        unit = torch.exp2(larger.log2().floor() - 13)
        total = (total / unit).trunc() * unit + (part / unit).trunc() * unit
    outputs = {"y": total.to(torch.bfloat16)}
    assert share("fp8_gemm", outputs, case, shape) <= 0.5
