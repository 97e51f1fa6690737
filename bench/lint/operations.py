"""Rules on what is forbidden: the operations that the problem's own code calls are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.forbidden import FAMILIES, families_of, plain_name
from bench.lint.subject import Subject
from bench.problems import PROBLEM
from kbsite.model.finding import Finding


class ForbiddenIsFound:
    """What is forbidden is what a lazy solution would call: the dispatcher has to see it."""

    name = "forbidden operations are found"

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Nothing found where something is forbidden; work of the library that is not forbidden."""
        forbidden = subject.problem.forbidden
        traced = {family for family in forbidden if FAMILIES[family].aten}
        own = _operations(subject)
        found = {family for operation in own for family in families_of(operation)}
        if traced and not traced & found:
            message = (
                f"neither the reference nor a baseline calls any of {', '.join(sorted(traced))}:"
                f" their operations are {', '.join(sorted(map(plain_name, own)))}"
            )
            yield subject.finding(PROBLEM, "forbidden", message)
        for operation in sorted(own):
            families = families_of(operation)
            if families and not families & {*forbidden}:
                message = (
                    f"does not hold {' or '.join(sorted(families))}: a baseline leaves its work to"
                    f" {plain_name(operation)}, and so could a solution"
                )
                yield subject.finding(PROBLEM, "forbidden", message)


def _operations(subject: Subject) -> set[str]:
    """The names of all operations that eager and library dispatch on the first shape."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[str] = set()

    class Trace(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.add(str(func))
            return func(*args, **(kwargs or {}))

    draw = subject.draw(subject.problem.cases[0], subject.shapes[0], 1)
    for name in ("eager", "library"):
        with Trace():  # type: ignore[no-untyped-call]
            subject.solved(name, subject.baselines[name], draw)
    return seen
