"""`bench lint`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import PROBLEMS, folder
from bench.commands.command import Argument, Command, Front, Given, Option, require
from kbsite.errors import UsageError
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from kbsite.model.finding import Finding


def run(given: Given, front: Front) -> int:
    """Look problems over and tell what is wrong with them; the exit code."""
    require()
    from bench.jobs import device_named
    from bench.lint import lint_folder

    named = [_folder(name, given) for name in given["problem"]]
    folders = list(dict.fromkeys(named)) or _all(given)
    device = device_named(given.get("device") or "cpu").name
    wrong: dict[str, list[Finding]] = {}
    with front.progress("linting") as told:
        for number, path in enumerate(folders):

            def tell(done: int, of: int, rule: str, number: int = number) -> None:
                share = (number + done / of) / len(folders)
                told(f"{folders[number].name}: {rule}" if rule else folders[number].name, share)

            wrong[path.name] = lint_folder(path, device, tell)
    if given.get("json"):
        front.give(json.dumps([_told(name, one) for name, held in wrong.items() for one in held]))
    else:
        _tell(wrong, front)
    return 1 if any(wrong.values()) else 0


def _tell(wrong: dict[str, list[Finding]], front: Front) -> None:
    for found in wrong.values():
        for one in found:
            front.give(one.text)
    for name, found in wrong.items():
        count = number_of(len(found), "finding")
        front.say(f"{name}: {count}", "bad" if found else "good")


def _told(problem: str, one: Finding) -> dict[str, object]:
    return {
        "problem": problem, "severity": one.severity.value, "path": one.path, "line": one.line,
        "key": one.key, "message": one.message,
    }  # fmt: skip


def _folder(name: str, given: Given) -> Path:
    """The folder of a problem that is named by its id or by its path."""
    for path in (folder(given, "problems") / name, Path(name)):
        if path.is_dir():
            return path
    raise UsageError(f"{name!r}: there is no such problem in {folder(given, 'problems')}")


def _all(given: Given) -> list[Path]:
    """All problems that anybody is graded by: those with baselines."""
    problems = folder(given, "problems")
    found = sorted(path.parent for path in problems.glob("*/baselines.py"))
    if not found:
        raise UsageError(f"there is no problem with a baselines.py in {problems}")
    return found


LINT = Command(
    name="lint",
    summary="Say what is wrong with problems, before anybody is graded by them.",
    about=(
        "Draws inputs, runs the reference, the baselines and the shortcuts that a bound has to "
        "refuse, and holds problem.yaml, prompt.md and code against each other. Without PROBLEM, "
        "all problems that have baselines. `kbsite check` reads the files only.\n\n"
        "Exit codes: 0 nothing is wrong, 1 something is, 2 wrong use, 3 the machine cannot."
    ),
    examples=("lint", "lint fp8_gemm"),
    arguments=(Argument(name="problem", several=True),),
    options=(
        PROBLEMS,
        Option(name="device", choices=("cpu", "cuda"), help="What to run them on; cpu without."),
        Option(name="json", kind=bool, help="Print the findings as JSON."),
    ),
    run=run,
)
