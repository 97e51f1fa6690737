"""Rules on formulas and formats: what a score is held against is what the problem takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench.lint.subject import CODE_ERRORS, Subject
from bench.problems import PROBLEM, REFERENCE, Shape, functions
from kbsite.model.finding import Finding
from kbsite.model.hardware import Ceiling, Format, ceiling
from kbsite.model.problem import Dimension, Dtype, Regime, Role
from kbsite.model.problem_rules import rate

if TYPE_CHECKING:
    import torch

JUDGED_ON = "h200-sxm"
"""The hardware whose ceilings a regime has to fit."""

READABLE_MS = 0.1
"""A ceiling below this cannot be told from the time that a launch takes."""

GROWTH = 1.25
"""By how much a formula may grow otherwise than the products that the reference does."""

EXCESS = 2.5
"""By how much a formula may differ from them."""

_FLOATS = {Dtype.FP32, Dtype.FP16, Dtype.BF16, Dtype.FP8_E4M3, Dtype.FP8_E5M2}
_HELD_IN = {
    Format.FP32: _FLOATS, Format.TF32: {Dtype.FP32}, Format.FP16: {Dtype.FP16},
    Format.BF16: {Dtype.BF16}, Format.FP8: {Dtype.FP8_E4M3, Dtype.FP8_E5M2},
    Format.FP4: {Dtype.UINT8}, Format.INT8: {Dtype.INT8, Dtype.UINT8},
}  # fmt: skip


class PeaksExist:
    """A score is a fraction of a peak: it has to be there, and it has to be the problem's."""

    name = "the peaks are the problem's"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Formats that no hardware of the table has a peak for, or that no input has."""
        held = {one.dtype for one in subject.problem.tensors.values() if one.role is not Role.OUT}
        for key in subject.problem.flops:
            number, sums = rate(key)
            known = (one.peak(number, sums) for one in subject.hardware.values())
            if not any(peak is not None and peak.tflops is not None for peak in known):
                message = f"no hardware of bench/hardware states a peak for {key}"
                yield subject.finding(PROBLEM, f"flops.{key}", message)
            if not held & _HELD_IN[number]:
                formats = ", ".join(sorted({one.value for one in held}))
                message = f"held against the peak of {number.value}, but the inputs are {formats}"
                yield subject.finding(PROBLEM, f"flops.{key}", message)


class FlopsFollowTheReference:
    """The formula counts the products that the reference does."""

    name = "flops are those of the reference"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Where the formula is far from what was counted, or grows otherwise with a dimension."""
        base = min(subject.graded.shapes("cpu"), key=subject.graded.bytes)
        counted, told = _counted(subject, base), _told(subject, base)
        if not counted or not told:
            return
        if not 1 / EXCESS <= told / counted <= EXCESS:
            message = (
                f"is {told:.4g} for {base}, the reference multiplies {counted:.4g}: expected about"
                " the same"
            )
            yield subject.finding(PROBLEM, "flops", message)
        for name, one in subject.problem.dimensions.items():
            other = _resized(base, name, one)
            if other is None:
                continue
            formula, work = _told(subject, other) / told, _counted(subject, other) / counted
            if not 1 / GROWTH <= formula / work <= GROWTH:
                message = (
                    f"grows {formula:.3g}-fold when {name} goes from {base.sizes[name]} to"
                    f" {other.sizes[name]}; what the reference multiplies grows {work:.3g}-fold"
                )
                yield subject.finding(PROBLEM, "flops", message)


class BytesAreCompulsory:
    """Each byte that matters is moved once, and none twice."""

    name = "bytes are those of the tensors"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Shapes for which the formula is less than what is touched, or more than there is."""
        for shape in subject.graded.shapes("cpu"):
            least, most = _traffic(subject, shape)
            told = subject.graded.work(shape).bytes
            if told < 0.95 * least:
                message = (
                    f"is {told:.4g} for {shape}; inputs and outputs that matter are {least:.4g}"
                )
                yield subject.finding(PROBLEM, "bytes", message)
            elif told > 1.01 * most:
                message = f"is {told:.4g} for {shape}; all tensors together are only {most:.4g}"
                yield subject.finding(PROBLEM, "bytes", message)


class RegimeFits:
    """What the problem says bounds it is what does, and long enough to be read."""

    name = "the regime fits the formulas"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Shapes whose ceiling is bound otherwise, or too short to be told from a launch."""
        hardware = subject.hardware[JUDGED_ON]
        regime = subject.problem.regime
        found = []
        for number, shape in enumerate(subject.graded.shapes("cuda")):
            try:
                at_best = ceiling(hardware, subject.graded.work(shape))
            except ValueError as error:
                yield subject.finding(PROBLEM, "flops", str(error))
                return
            found.append(at_best.ms)
            if regime is not Regime.LATENCY and at_best.ms < READABLE_MS:
                message = (
                    f"{at_best.ms * 1e3:.3g} us at best on {hardware.name}; expected"
                    f" {READABLE_MS * 1e3:g} us or more, or the regime latency"
                )
                yield subject.finding(PROBLEM, f"shapes[{number}]", message)
            elif _bound_by(at_best) is not regime is not Regime.LATENCY:
                message = (
                    f"bound by {_bound_by(at_best).value} on {hardware.name}"
                    f" (compute {at_best.compute_ms:.3g} ms, memory {at_best.memory_ms:.3g} ms);"
                    f" the regime is {regime.value if regime else None}"
                )
                yield subject.finding(PROBLEM, f"shapes[{number}]", message)
        if regime is Regime.LATENCY and min(found) >= READABLE_MS:
            message = f"latency, but every shape takes {READABLE_MS * 1e3:g} us at best, or more"
            yield subject.finding(PROBLEM, "regime", message)


def _bound_by(at_best: Ceiling) -> Regime:
    return Regime.MEMORY if at_best.bound_by is None else Regime.COMPUTE


def _told(subject: Subject, shape: Shape) -> float:
    return sum(subject.graded.work(shape).flops.values())


def _counted(subject: Subject, shape: Shape) -> float:
    """Operations of matrix products, convolutions and attention in the reference."""
    from torch.utils.flop_counter import FlopCounterMode

    inputs = subject.inputs(subject.problem.cases[0], shape, 1)
    counter = FlopCounterMode(display=False)
    with counter:
        subject.oracle.reference(inputs, shape)
    return float(counter.get_total_flops())


def _resized(base: Shape, name: str, one: Dimension) -> Shape | None:
    """The shape with one dimension about twice as large, or else half; None if it has one size."""
    size = base.sizes[name]
    for wanted in (2 * size, size // 2):
        other = one.least + (wanted - one.least) // one.step * one.step
        if one.least <= other <= one.most and other != size:
            return Shape(base.id, {**base.sizes, name: other})
    return None


def _traffic(subject: Subject, shape: Shape) -> tuple[float, float]:
    """Bytes of what the outputs depend on, with the outputs; bytes of all tensors."""
    tensors = subject.problem.tensors
    sizes = {
        name: math.prod(subject.graded.sizes(name, shape)) * one.dtype.bytes
        for name, one in tensors.items()
    }
    twice = sum(sizes[name] for name, one in tensors.items() if one.role is Role.INOUT)
    used = {**dict.fromkeys(tensors, 1.0), **_used(subject, shape)}
    least = sum(size * used[name] for name, size in sizes.items()) + twice
    return least, sum(sizes.values()) + twice


def _used(subject: Subject, shape: Shape) -> dict[str, float]:
    """Share of each floating input that the outputs depend on, where gradients tell it."""
    import torch

    code = functions(subject.graded.folder / REFERENCE, ("reference",))["reference"]
    inputs = {
        name: value.detach().clone().requires_grad_(value.is_floating_point())
        for name, value in subject.inputs(subject.problem.cases[0], shape, 1).items()
    }
    generator = torch.Generator(subject.device).manual_seed(1)
    try:
        with torch.enable_grad():
            made = [one for one in code(**inputs, **shape.sizes).values() if one.requires_grad]
            weights = [_weights(one, generator) for one in made]
            torch.autograd.backward(made, weights)
    except CODE_ERRORS:
        return {}  # not every operation has a gradient; then all of the inputs count
    return {
        name: float((value.grad != 0).float().mean())
        for name, value in inputs.items()
        if value.grad is not None
    }


def _weights(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    import torch

    drawn = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    return (drawn + 0.5).to(tensor.dtype)
