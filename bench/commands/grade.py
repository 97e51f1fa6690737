"""`bench grade`."""

from __future__ import annotations

import json
from pathlib import Path

from bench.commands.choices import GRADING, SHAPE
from bench.commands.command import Argument, Command, Front, Given, Option, require
from bench.sealed import AUDIT


def run(given: Given, front: Front) -> int:
    """Grade a run or a file, and tell what came out; the exit code."""
    require()
    from bench.commands.work import choice, step_by_step
    from bench.jobs import exit_code, grade_path
    from bench.named import meant
    from bench.records import plain

    chosen = choice(given)
    path = meant(given["solution"], chosen.runs)
    with front.progress(f"grading {path.name}") as told:
        graded = grade_path(
            path, given.get("problem") or "", chosen, given.get("out"), step_by_step(told)
        )
    metrics = graded.grade.metrics
    code = exit_code(metrics.outcome)
    if given.get("json"):
        front.give(json.dumps(plain(metrics), allow_nan=False))
    else:
        front.give(graded.log.rstrip("\n"))
    if graded.earlier is not None:
        front.say(f"the earlier grade is kept in {graded.earlier}")
        if (graded.earlier.parents[1] / AUDIT).is_file():
            front.say("the run was audited before: see whether its verdict and quotes still hold")
    if graded.place is not None:
        front.say(f"written into {graded.place}", "bad" if code else "good")
    return code


GRADE = Command(
    name="grade",
    summary="Grade the solution of a run, or a file.",
    about=(
        "SOLUTION is a run, by its id, a part of it that no other has, or its folder; a "
        "solution.py; or a folder with one. The grade of a run is written into it; an earlier one "
        "is kept beside it, and its page shows both. Every call is timed and checked, in fresh "
        "processes that are kept from the grader.\n\n"
        "Exit codes: 0 it passed, 1 it did not, 2 wrong use, 3 the machine failed, which says "
        "nothing of the solution and is written into no run."
    ),
    examples=(
        "grade 20260102_030405_claude_opus_fp8_gemm",
        "grade solution.py --problem fp8_gemm --shape square --rounds 2 --calls 20",
    ),
    arguments=(Argument(name="solution", kind=Path),),
    options=(
        Option(name="problem", metavar="ID", help="What it solves; a run says so itself."),
        *GRADING,
        SHAPE,
        Option(name="out", kind=Path, help="Folder to write the grade into, in place of the run."),
        Option(name="json", kind=bool, help="Print metrics.json instead of the report."),
    ),
    run=run,
)
