"""How long a shape takes at least: by datasheet, by physics and by what this machine reaches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import geometric_mean

from bench.anchors import Anchors
from bench.problems import PROBLEM, GradedProblem, Shape
from kbsite.errors import InputError, MachineError
from kbsite.model.accounting import Ceilings, Rates, ceilings_of_cpu, ceilings_of_gpu
from kbsite.model.grade import ShapeMetrics
from kbsite.model.hardware import Hardware

SUSPECT = 0.9
"""A fraction above this asks whether the vendor's library gets there too."""

PARITY = 0.05
"""How much faster than the library floor may be without being suspect, as a share."""

DRIFT = 0.02
"""By how much what a machine reaches changes within a day, as a share."""


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
    measured = Rates(anchors.bandwidth, anchors.tflops)
    if hardware is not None:
        try:
            return ceilings_of_gpu(hardware, work, measured)
        except ValueError as error:
            raise InputError(f"cannot be held against a peak: {error}", path=path) from error
    found = ceilings_of_cpu(work, measured)
    if found is None:
        raise MachineError(
            "this CPU's ceilings were not measured: run `kbsite bench calibrate` first"
        )
    return found


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
