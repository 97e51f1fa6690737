"""How long a shape takes at least: by the datasheet, by physics and by what this machine reaches.

A CPU has no datasheet that names its rates: there the ceiling is what was measured on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from bench.anchors import Anchors
from bench.problems import PROBLEM, GradedProblem, Shape
from kbsite.errors import InputError, MachineError
from kbsite.model.grade import ShapeMetrics
from kbsite.model.hardware import Accumulate, Format, Hardware, Work, ceiling, physics_floor

DRAM = "dram"
"""What a shape is bound by that is not bound by a format."""

CPU_MARGIN = 2.0
"""How many times faster than measured a CPU is taken to be at the very most. A library does not
reach all that processors can do, and whatever else ran while it was measured made it slower; the
format that was measured fastest counts for all, as one of them may have been disturbed."""

SUSPECT = 0.9
"""A fraction above this asks whether the vendor's library gets there too."""

PARITY = 0.05
"""How much faster than the library floor may be without being suspect, as a share."""

DRIFT = 0.02
"""By how much what a machine reaches changes within a day, as a share."""


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


def ceilings(
    problem: GradedProblem, shape: Shape, hardware: Hardware | None, anchors: Anchors
) -> Ceilings:
    """The least times of a shape of a problem on a hardware; without one, of this CPU.

    InputError if the problem states no work for the shape, or work that the hardware has no peak
    for; MachineError if a CPU was not measured.
    """
    work = problem.work(shape)
    path = problem.folder / PROBLEM
    if not work.bytes and not any(work.flops.values()):
        raise InputError(f"expected flops or bytes above 0 for {shape}", path=path, key="bytes")
    if hardware is None:
        return _of_cpu(work, anchors)
    try:
        by_sheet = ceiling(hardware, work)
    except ValueError as error:
        raise InputError(f"cannot be held against a peak: {error}", path=path) from error
    measured = _times(work, {key: anchors.tflops.get(key[0].value) for key in work.flops}, anchors)
    return Ceilings(
        ceiling_ms=by_sheet.ms,
        bound_by=by_sheet.bound_by.value if by_sheet.bound_by else DRAM,
        floor_ms=physics_floor(hardware, work).ms,
        achievable_ms=measured[0] if measured else None,
    )


def _of_cpu(work: Work, anchors: Anchors) -> Ceilings:
    """A format that a CPU was not measured in is computed in the one that it is fastest in."""
    fastest = max(anchors.tflops.values(), default=None)
    rates = {key: anchors.tflops.get(key[0].value, fastest) for key in work.flops}
    reached = _times(work, rates, anchors)
    least = _times(work, dict.fromkeys(work.flops, fastest), anchors)
    if reached is None or least is None:
        raise MachineError(
            "this CPU's ceilings were not measured: run `kbsite bench calibrate` first"
        )
    return Ceilings(
        ceiling_ms=reached[0],
        bound_by=reached[1],
        floor_ms=least[0] / CPU_MARGIN,
        achievable_ms=reached[0],
    )


def _times(
    work: Work, rates: Mapping[tuple[Format, Accumulate | None], float | None], anchors: Anchors
) -> tuple[float, str] | None:
    """Milliseconds at measured rates and what binds; None where a rate is not known."""
    times = {}
    for key, flops in work.flops.items():
        rate = rates[key]
        if flops and not rate:
            return None
        times[key[0].value] = flops / (rate * 1e9) if rate else 0.0
    if work.bytes and not anchors.bandwidth:
        return None
    times[DRAM] = work.bytes / (anchors.bandwidth * 1e6) if anchors.bandwidth else 0.0
    longest = max(times, key=lambda name: times[name])
    return times[longest], longest


def alarms(shapes: Sequence[ShapeMetrics], library_fraction: float | None) -> list[str]:
    """What an auditor has to look at in the fractions of a grade, as sentences.

    `library_fraction` is the peak_fraction of the library floor of this problem and hardware.
    """
    found = [
        f"{shape.shape}: {shape.peak_fraction:.3f} of the ceiling ({shape.bound_by}), more than "
        "its figures allow: the work is counted too high, the peak stated too low, or the time "
        "is wrong."
        for shape in shapes
        if shape.peak_fraction is not None and shape.peak_fraction > 1
    ]
    found += [
        f"{shape.shape}: faster than this machine was measured at, {shape.achievable_fraction:.3f} "
        "of its anchors: either these were measured while it was slower, or less work was done."
        for shape in shapes
        if shape.achievable_fraction is not None
        and shape.achievable_fraction > 1 + DRIFT
        and (shape.peak_fraction or 0) <= 1
    ]
    return found + _without_parity(shapes, library_fraction)


def _without_parity(shapes: Iterable[ShapeMetrics], library: float | None) -> list[str]:
    """The sentence on a fraction so high that a vendor's library should reach it too."""
    each = [shape.peak_fraction for shape in shapes if shape.peak_fraction]
    whole = geometric_mean(each) if each else 0.0
    if whole <= SUSPECT or (library is not None and whole <= library * (1 + PARITY)):
        return []
    said = (
        "no library floor was graded here" if library is None
        else f"the library floor here reaches {library:.3f}"
    )  # fmt: skip
    return [f"{whole:.3f} of the ceiling over all shapes, but {said}: look at what it computes."]
