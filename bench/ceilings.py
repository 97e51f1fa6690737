"""How long a shape takes at least: by datasheet, by physics and by what this machine reaches."""

from __future__ import annotations

from bench.anchors import Anchors
from bench.problems import PROBLEM, GradedProblem, Shape
from kbsite.errors import InputError, MachineError
from kbsite.model.accounting import Ceilings, Rates, ceilings_of_cpu, ceilings_of_gpu
from kbsite.model.hardware import Hardware


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
