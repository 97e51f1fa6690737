"""What a problem's formulas come to: the work of a shape, and how long hardware takes for it."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.model.expressions import evaluate
from kbsite.model.hardware import Ceiling, Hardware, Work, ceiling
from kbsite.model.problem import Problem
from kbsite.model.problem_rules import rate

DRAM = "dram"
"""What a shape is bound by that is bound by no format."""

ListedShape = Mapping[str, int | float | str | bool]


def sizes(shape: ListedShape) -> dict[str, int]:
    """The sizes of a listed shape, by dimension."""
    return {
        name: size
        for name, size in shape.items()
        if isinstance(size, int) and not isinstance(size, bool)
    }


def work(problem: Problem, shape: ListedShape) -> Work:
    """What no implementation can do without on a shape; ValueError where a formula has no value."""
    held = sizes(shape)
    flops = {rate(key): float(evaluate(formula, held)) for key, formula in problem.flops.items()}
    return Work(flops, float(evaluate(problem.bytes or "0", held)))


def ceiling_of(problem: Problem, shape: ListedShape, hardware: Hardware) -> Ceiling:
    """The time by the datasheet; ValueError where work or a figure of the hardware is not known."""
    return ceiling(hardware, work(problem, shape))


def bound_by(of: Ceiling) -> str:
    """What a ceiling is the ceiling of: a format, or DRAM."""
    return of.bound_by.value if of.bound_by else DRAM
