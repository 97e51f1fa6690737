"""What a problem's formulas come to: the work of a shape, and how long hardware takes for it.

A CPU has no datasheet that names its rates: there the ceiling is what was measured on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kbsite.model.expressions import evaluate
from kbsite.model.hardware import (
    Accumulate,
    Ceiling,
    Format,
    Hardware,
    Work,
    ceiling,
    physics_floor,
)
from kbsite.model.problem import Problem
from kbsite.model.problem_rules import rate

DRAM = "dram"
"""What a shape is bound by that is bound by no format."""

CPU_MARGIN = 2.0
"""How many times faster than measured a CPU is taken to be at the very most. A library does not
reach all that processors can do, and whatever else ran while it was measured made it slower; the
format that was measured fastest counts for all, as one of them may have been disturbed."""

BANDWIDTH, PRODUCTS = " GB/s", " TFLOP/s"
"""How the names of anchors end in a grade: "copy GB/s", "bf16 TFLOP/s"."""

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


@dataclass(frozen=True, slots=True)
class Rates:
    """What a machine was measured at."""

    bandwidth: float | None
    """The highest of the measured bandwidths, GB/s; None if none was."""
    tflops: Mapping[str, float]
    """Products by format, 10**12 operations a second."""

    @classmethod
    def of(cls, anchors: Mapping[str, float]) -> Rates:
        """The rates that a grade names."""
        streams = [rate for name, rate in anchors.items() if name.endswith(BANDWIDTH)]
        products = {
            name.removesuffix(PRODUCTS): rate
            for name, rate in anchors.items()
            if name.endswith(PRODUCTS)
        }
        return cls(max(streams, default=None), products)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The least times of one shape, milliseconds."""

    ceiling_ms: float
    """What peak_fraction is held against: the datasheet's, for a CPU the measured one."""
    bound_by: str
    """The format whose rate the ceiling is the ceiling of, or "dram"."""
    floor_ms: float
    """No honest kernel is faster."""
    achievable_ms: float | None
    """At the rates of this machine's anchors; None where one that is needed was not measured."""


def ceilings_of_gpu(hardware: Hardware, needed: Work, measured: Rates) -> Ceilings:
    """The least times on hardware with a datasheet; ValueError where that lacks a peak."""
    by_sheet = ceiling(hardware, needed)
    rates = {key: measured.tflops.get(key[0].value) for key in needed.flops}
    reached = _times(needed, rates, measured.bandwidth)
    return Ceilings(
        ceiling_ms=by_sheet.ms,
        bound_by=bound_by(by_sheet),
        floor_ms=physics_floor(hardware, needed).ms,
        achievable_ms=reached[0] if reached else None,
    )


def ceilings_of_cpu(needed: Work, measured: Rates) -> Ceilings | None:
    """The least times on a CPU; None if it was not measured.

    A format that it was not measured in is computed in the one that it is fastest in.
    """
    fastest = max(measured.tflops.values(), default=None)
    rates = {key: measured.tflops.get(key[0].value, fastest) for key in needed.flops}
    reached = _times(needed, rates, measured.bandwidth)
    least = _times(needed, dict.fromkeys(needed.flops, fastest), measured.bandwidth)
    if reached is None or least is None:
        return None
    return Ceilings(
        ceiling_ms=reached[0],
        bound_by=reached[1],
        floor_ms=least[0] / CPU_MARGIN,
        achievable_ms=reached[0],
    )


def _times(
    needed: Work,
    rates: Mapping[tuple[Format, Accumulate | None], float | None],
    bandwidth: float | None,
) -> tuple[float, str] | None:
    """Milliseconds at measured rates and what binds; None where a rate is not known."""
    times = {}
    for key, flops in needed.flops.items():
        measured = rates[key]
        if flops and not measured:
            return None
        times[key[0].value] = flops / (measured * 1e9) if measured else 0.0
    if needed.bytes and not bandwidth:
        return None
    times[DRAM] = needed.bytes / (bandwidth * 1e6) if bandwidth else 0.0
    longest = max(times, key=lambda name: times[name])
    return times[longest], longest
