"""`bench floor`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bench.commands.choices import GRADING
from bench.commands.command import Argument, Command, Front, Given, Option, require
from kbsite.model.floor import FloorKind

if TYPE_CHECKING:
    from bench.floors import FloorMade


def run(given: Given, front: Front) -> int:
    """Grade floors, skipping what is there, and tell all of them; the exit code."""
    require()
    from bench.commands.work import choice, step_by_step
    from bench.jobs import exit_code, floors

    how = choice(given)
    kinds = [FloorKind(kind) for kind in dict.fromkeys(given.get("kind") or ())] or list(FloorKind)
    problems = list(dict.fromkeys(given["problem"]))
    made = []
    with front.progress("grading floors") as told:
        asked = floors(problems, kinds, how, step_by_step(told), again=given["again"])
        for one in asked:
            made.append(one)
            front.say(_line(one), "" if one.grade is None else _tone(one))
    if given.get("json"):
        front.give(json.dumps([_told(one) for one in made]))
    else:
        for text in summary(made):
            front.give(text)
    return max((exit_code(one.grade.metrics.outcome) for one in made if one.grade), default=0)


def _tone(one: FloorMade) -> str:
    from bench.jobs import exit_code

    return "bad" if one.grade and exit_code(one.grade.metrics.outcome) else "good"


def _line(one: FloorMade) -> str:
    """What became of a floor, as it is told at once."""
    from bench.report import sentence

    if one.grade is None:
        return f"{one.problem.id}, {one.kind.label}: graded before, as {one.run}"
    return f"{one.problem.id}, {one.kind.label}: {sentence(one.grade.metrics)}"


def _told(one: FloorMade) -> dict[str, object]:
    return {
        "problem": one.problem.id, "kind": one.kind.value, "graded": one.grade is not None,
        "run": str(one.run) if one.run else None, **_figures(one),
    }  # fmt: skip


def _figures(one: FloorMade) -> dict[str, object]:
    """Outcome, peak_fraction and time of a floor, whenever it was graded."""
    from bench.floors import graded_before

    if one.grade is not None:
        metrics = one.grade.metrics
        outcome = metrics.outcome.value if metrics.outcome else None
        return {"outcome": outcome, "peak_fraction": metrics.peak_fraction, "ms": metrics.ms}
    held = graded_before(one.run) if one.run else {}
    return {name: held.get(name) for name in ("outcome", "peak_fraction", "ms")}


def summary(made: Iterable[FloorMade]) -> Iterable[str]:
    """A line for each floor, in columns."""
    from bench.report import table

    rows = []
    for one in made:
        told = _figures(one)
        numbers = [f"{value:.4g}" if isinstance(value, float | int) else "-"
                   for value in (told["peak_fraction"], told["ms"])]  # fmt: skip
        outcome = str(told["outcome"] or "-")
        rows.append([one.problem.id, one.kind.value, outcome, *numbers,
                     one.run.name if one.run else "-"])  # fmt: skip
    heads = ("problem", "floor", "outcome", "peak", "ms", "run")
    return table(heads, rows, frozenset(("problem", "floor", "outcome", "run")))


FLOOR = Command(
    name="floor",
    summary="Grade the reference, compiled and library kernels of problems.",
    about=(
        "What a solution has to beat: each floor is graded as a solution is, and becomes a run in "
        "runs/floors, with its source. Boards on the same hardware show it. What was graded "
        "before, with the same problem, source and hardware, is skipped: broken off, it goes on "
        "where it was. Without PROBLEM, the floors of all problems.\n\n"
        "Exit codes: 0 all passed, 1 one did not, 2 wrong use, 3 the machine failed."
    ),
    examples=("floor", "floor fp8_gemm --kind library --kind eager --again"),
    arguments=(Argument(name="problem", several=True),),
    options=(
        Option(
            name="kind", several=True, choices=tuple(kind.value for kind in FloorKind),
            help="Only this kind, or these.",
        ),
        *GRADING,
        Option(name="again", kind=bool, help="Grade also what was graded before."),
        Option(name="json", kind=bool, help="Print the floors as JSON instead of a table."),
    ),
    run=run,
)  # fmt: skip
