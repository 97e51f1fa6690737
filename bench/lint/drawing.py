"""Rules on inputs: secret, told apart by their cases, and all of them needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench.grading.disclosure import bytes_of
from bench.lint.subject import CODE_ERRORS, Subject, figure
from bench.problems import PROBLEM, REFERENCE, torch_dtype
from kbsite.model.finding import Finding

if TYPE_CHECKING:
    pass

SEEDS = (1, 2, 3)


class ChangesWithTheSeed:
    """Whoever knows the inputs of one call must not know those of another."""

    name = "inputs change with the seed"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Tensors that are the same for all seeds, or another for the same seed."""
        import torch

        shape = subject.shapes[0]
        for case in subject.problem.cases:
            before = torch.get_rng_state()
            drawn = [subject.inputs(case, shape, seed) for seed in (*SEEDS, SEEDS[0])]
            if not torch.equal(before, torch.get_rng_state()):
                torch.set_rng_state(before)
                message = "draws from torch's global generator, or seeds it; use `generator` alone"
                yield subject.finding(REFERENCE, "inputs()", message)
            for name in drawn[0]:
                first, *others = (bytes_of(held[name]) for held in drawn)
                said = f"{name}, case {case!r}:"
                if not torch.equal(first, others.pop()):
                    message = f"{said} differs for the same seed; draw it from `generator`"
                    yield subject.finding(REFERENCE, "inputs()", message)
                elif any(torch.equal(first, other) for other in others):
                    message = f"{said} is the same for the seeds {SEEDS}; draw it from `generator`"
                    yield subject.finding(REFERENCE, "inputs()", message)


class CasesDiffer:
    """A case that reference.py does not know would be the ordinary one again."""

    name = "cases differ"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Cases whose inputs are those of an earlier one."""
        import torch

        shape = subject.shapes[0]
        drawn = [subject.inputs(case, shape, SEEDS[0]) for case in subject.problem.cases]
        for number, held in enumerate(drawn):
            for earlier in range(number):
                pairs = ((bytes_of(held[name]), bytes_of(drawn[earlier][name])) for name in held)
                if all(torch.equal(one, other) for one, other in pairs):
                    message = f"draws the same inputs as {subject.problem.cases[earlier]!r}"
                    yield subject.finding(PROBLEM, f"cases[{number}]", message)


class InputsMatter:
    """An input that does not show in the outputs need not be read."""

    name = "outputs depend on each input"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Inputs of which other values make no difference that the bound would see."""
        case = subject.problem.cases[0]
        for name in subject.draw(case, subject.shapes[0], SEEDS[0]).inputs:
            most = max(_change(subject, name, case, at) for at in range(len(subject.shapes)))
            if most <= 1:
                message = (
                    f"other values of {name} change the outputs by {figure(most)} at most; expected"
                    " more than 1: whoever leaves it out is right"
                )
                yield subject.finding(PROBLEM, f"tensors.{name}", message)


def _change(subject: Subject, name: str, case: str, at: int) -> float:
    """How many bounds other values of one input move the outputs."""
    shape = subject.shapes[at]
    draw = subject.draw(case, shape, SEEDS[0])
    other = subject.inputs(case, shape, SEEDS[1])
    try:
        changed = subject.oracle.reference({**draw.inputs, name: other[name]}, shape)
    except CODE_ERRORS:
        return float("inf")  # values that do not fit the other inputs: it does look at them
    outputs = {
        key: value.to(torch_dtype(subject.problem.tensors[key].dtype))
        for key, value in changed.items()
    }
    return subject.furthest(outputs, draw)
