"""Rules on bounds: honest kernels are well within, shortcuts are far out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from bench.lint.lower import NAMES, lowered
from bench.lint.subject import Draw, Solve, Subject, figure
from bench.problems import BASELINES, PROBLEM, torch_dtype
from kbsite.model.finding import Finding, Severity
from kbsite.model.problem import Bound, Role

if TYPE_CHECKING:
    import torch

HONEST = 0.5
"""Share of a bound that an honest kernel may use up."""

CHEAPEST = 2.0
"""Bounds that a shortcut has to be off."""

SLACK = 1.5
"""By how much what is measured here may differ from a calibration on other hardware."""


class NoWorkIsRefused:
    """What can be had without computing must not pass, whatever the inputs are."""

    name = "no output passes that takes no work"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """The cheapest such output of each case that is not far enough off."""
        for name in subject.problem.outputs:
            for case in subject.problem.cases:
                draws = [subject.draw(case, shape, 1) for shape in subject.small]
                bounds, what = min(
                    (subject.off(name, y, draw), what)
                    for draw in draws
                    for what, y in _lazy(subject, name, draw).items()
                )
                if bounds <= CHEAPEST:
                    yield _too_near(subject, name, f"{what}, case {case!r},", bounds)


class LowerPrecisionIsRefused:
    """Inputs in the next lower format would halve the traffic, or double the rate."""

    name = "the next lower precision is refused"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Nothing, or that all floating inputs can be rounded to the next lower format."""
        kinds = {
            one.dtype
            for one in subject.problem.tensors.values()
            if one.role is not Role.OUT and one.dtype in NAMES
        }
        if not kinds:
            return
        bounds, where = _shown(subject, lambda draw: _lower(subject, draw))
        if bounds <= CHEAPEST:
            formats = ", ".join(sorted({f"{one.value} as {NAMES[one]}" for one in kinds}))
            output = next(iter(subject.problem.outputs))
            yield _too_near(subject, output, f"{formats}, {where},", bounds)


class ShortcutsAreRefused:
    """The cheats of baselines.py must not pass."""

    name = "shortcuts are refused"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Shortcuts that some shape lets through in all of its cases."""
        for name, solve in subject.shortcuts.items():
            bounds, where = _shown(subject, _distance(subject, name, solve))
            if bounds <= CHEAPEST:
                output = next(iter(subject.problem.outputs))
                yield _too_near(subject, output, f"{name}, {where},", bounds)


class HonestBaselinesPass:
    """What computes all of it in the problem's own formats has to be right with room to spare."""

    name = "honest baselines pass"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Baselines that use up too much of the bound; which output, case and shape."""
        for name, found in subject.honest.items():
            worst = max(found)
            if worst.bounds > HONEST:
                message = (
                    f"{worst.output} is {figure(worst.bounds)} off ({worst.where}); expected at"
                    f" most {HONEST}: mend the baseline, or widen the bound"
                )
                yield subject.finding(BASELINES, f"{name}()", message)


class CalibrationHolds:
    """The figures of a calibration are those of the problem as it is now."""

    name = "the calibration holds"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Figures that are beyond what a bound allows, or that what is measured contradicts."""
        for name, one in subject.problem.outputs.items():
            key, bound = f"tensors.{name}.bound", one.bound or Bound()
            if bound.honest is not None:
                yield from self._honest(subject, f"{key}.honest", name, bound.honest)
            if bound.cheapest is not None and bound.cheapest <= CHEAPEST:
                message = f"{bound.cheapest:g}; expected more than {CHEAPEST:g}"
                yield subject.finding(PROBLEM, f"{key}.cheapest", message)

    def _honest(self, subject: Subject, key: str, name: str, stated: float) -> Iterator[Finding]:
        if stated > HONEST:
            yield subject.finding(PROBLEM, key, f"{stated:g}; expected at most {HONEST}")
        worst = max(one for one in subject.honest["eager"] if one.output == name)
        if worst.bounds > stated * SLACK:
            message = f"says {stated:g}; eager() is {figure(worst.bounds)} off ({worst.where})"
            yield subject.finding(PROBLEM, key, message, Severity.WARNING)


def _distance(subject: Subject, name: str, solve: Solve) -> Callable[[Draw], float]:
    """How many bounds a shortcut is off."""
    return lambda draw: subject.furthest(subject.solved(name, solve, draw), draw)


def _shown(subject: Subject, off: Callable[[Draw], float]) -> tuple[float, str]:
    """How many bounds a shortcut is off on the shape that shows it least, and which that is.

    A shape's figure is that of a case that shows it well enough, or the most of all its cases:
    a grade has all of them on every shape.
    """
    found = []
    for shape in subject.shapes:
        most = 0.0
        for case in subject.problem.cases:
            most = max(most, off(subject.draw(case, shape, 1)))
            if most > CHEAPEST:
                break
        found.append((most, str(shape)))
    return min(found)


def _too_near(subject: Subject, output: str, what: str, bounds: float) -> Finding:
    message = (
        f"lets a shortcut through: {what} is {figure(bounds)} off; expected more than {CHEAPEST:g}."
        " Tighten the bound, or draw inputs that show it"
    )
    return subject.finding(PROBLEM, f"tensors.{output}.bound", message)


def _lazy(subject: Subject, name: str, draw: Draw) -> Mapping[str, torch.Tensor]:
    """Outputs that take no work, in the output's format, by what they are."""
    import torch

    right, dtype = draw.expected[name], torch_dtype(subject.problem.tensors[name].dtype)
    made = {"zeros": torch.zeros_like(right), "ones": torch.ones_like(right)}
    if right.is_floating_point():
        made["the mean"] = torch.full_like(right, float(right[right.isfinite()].mean()))
    made["the output of another call"] = subject.draw(draw.case, draw.shape, 2).expected[name]
    made |= _repeated(right) | _inputs_as(draw, right)
    return {what: value.to(dtype) for what, value in made.items()}


def _repeated(right: torch.Tensor) -> dict[str, torch.Tensor]:
    """What is right at the start of an axis, all along it."""
    return {
        f"axis {axis} computed once and repeated": right.narrow(axis, 0, 1).expand_as(right)
        for axis, size in enumerate(right.shape)
        if size > 1
    }


def _inputs_as(draw: Draw, right: torch.Tensor) -> dict[str, torch.Tensor]:
    """Inputs that have as many elements as the output."""
    return {
        f"a copy of {name}": value.to(right.dtype).reshape(right.shape)
        for name, value in draw.inputs.items()
        if value.numel() == right.numel()
    }


def _lower(subject: Subject, draw: Draw) -> float:
    """How far the outputs are off where all floating inputs have the next lower format."""
    tensors = subject.problem.tensors
    inputs = {name: lowered(value, tensors[name].dtype) for name, value in draw.inputs.items()}
    made = subject.oracle.reference(inputs, draw.shape)
    outputs = {name: value.to(torch_dtype(tensors[name].dtype)) for name, value in made.items()}
    return subject.furthest(outputs, draw)
