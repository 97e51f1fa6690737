"""The problems of the Hard deck and the controls, as the tests look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from bench.numerics import compare
from bench.problems import BASELINES, GradedProblem, Shape, functions, read_problem, torch_dtype
from kbsite.model.problem import Role

ROOT = Path(__file__).parents[3]

IDS = (
    "bf16_gemm", "fp8_gemm", "kahan_softmax", "kda_chunk", "mrope", "paged_attention", "patch_embed",
    "sonic_moe_swiglu", "topk_bitonic", "vector_add", "w4a16_gemm",
)  # fmt: skip

SEED = 7

Tensors = Mapping[str, torch.Tensor]


@cache
def problem(name: str) -> GradedProblem:
    """A problem of the deck."""
    return read_problem(ROOT / "problems" / name)


@cache
def baselines(name: str) -> Mapping[str, Any]:
    """What its baselines.py defines."""
    return functions(problem(name).folder / BASELINES, ("eager", "compiled", "library"))


@cache
def inputs(name: str, case: str, shape: Shape, seed: int = SEED) -> Tensors:
    """Inputs of one call on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    return problem(name).oracle().inputs(case, generator, shape)


@cache
def expected(name: str, case: str, shape: Shape) -> Tensors:
    """What is right for them."""
    return problem(name).oracle().reference(inputs(name, case, shape), shape)


def smallest(name: str) -> Shape:
    """The shape for CPUs whose tensors take least memory."""
    return min(problem(name).shapes("cpu"), key=problem(name).bytes)


def least(name: str) -> Shape:
    """The smallest sizes that the problem allows."""
    dimensions = problem(name).problem.dimensions
    return Shape("least", {key: one.least for key, one in dimensions.items()})


def call(
    name: str, solve: Callable[..., object], case: str, shape: Shape
) -> dict[str, torch.Tensor]:
    """The outputs that a solution writes over memory which holds nothing of use."""
    graded = problem(name)
    tensors = {key: value.clone() for key, value in inputs(name, case, shape).items()}
    for key, one in graded.problem.tensors.items():
        if one.role is Role.OUT:
            empty = torch.zeros(graded.sizes(key, shape), dtype=torch_dtype(one.dtype))
            tensors[key] = empty.fill_(float("nan") if empty.is_floating_point() else -1)
    solve(*(tensors[key] for key in graded.problem.tensors))
    return {key: tensors[key] for key in graded.problem.outputs}


def share(name: str, outputs: Tensors, case: str, shape: Shape) -> float:
    """How much of its bound the worst of some outputs uses up; more than 1 is wrong."""
    worst = 0.0
    for key, y in outputs.items():
        bound = problem(name).problem.outputs[key].bound
        assert bound is not None
        pointed = inputs(name, case, shape)[bound.indices_into] if bound.indices_into else None
        found = compare(key, y, expected(name, case, shape)[key], bound, pointed).error
        typical = (found.typical or 0.0) / bound.typical if bound.typical else 0.0
        worst = max(worst, found.largest, typical)
    return worst
