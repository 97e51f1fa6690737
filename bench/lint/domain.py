"""Rules on sizes that nobody times, and that every grade draws in secret."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from bench.lint.subject import CODE_ERRORS, Subject, figure
from bench.problems import PROBLEM, REFERENCE, Shape
from kbsite.model.finding import Finding

DRAWS = 5
"""Secret shapes that are tried."""


class DomainIsSound:
    """What is right for the listed shapes is right in the whole domain of the dimensions."""

    name = "all sizes of the domain work"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Shapes for which the reference fails, or for which an honest kernel would be wrong."""
        for shape in _shapes(subject):
            for case in subject.problem.cases:
                wrong = next(_wrong(subject, shape, case), None)
                if wrong is not None:
                    yield wrong
                    return


def _wrong(subject: Subject, shape: Shape, case: str) -> Iterator[Finding]:
    where = f"in case {case!r} on {shape}"
    try:
        draw = subject.draw(case, shape, 1)
    except CODE_ERRORS as error:
        message = f"fails {where}: {type(error).__name__}: {error}"
        yield subject.finding(REFERENCE, None, message)
        return
    for name, y in subject.solved("eager", subject.baselines["eager"], draw).items():
        bounds = subject.off(name, y, draw)
        if bounds > 1:
            message = (
                f"{name} of eager() is {figure(bounds)} off {where}: narrow the dimensions, or"
                " widen the bound"
            )
            yield subject.finding(PROBLEM, f"tensors.{name}.bound", message)


def _shapes(subject: Subject) -> list[Shape]:
    """The smallest of all shapes, and some that a grade could draw."""
    dimensions = subject.problem.dimensions
    least = Shape("least", {name: one.least for name, one in dimensions.items()})
    random = Random(1)  # noqa: S311 - the same each time, so that a finding comes again
    return [least, *(subject.graded.held_out(subject.shapes, random) for _ in range(DRAWS))]
