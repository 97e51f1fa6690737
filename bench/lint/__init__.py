"""What is wrong with a problem, before anybody is graded by it.

`kbsite check` reads files; this draws inputs, runs the reference, the baselines and their cheats,
and holds problem.yaml, prompt.md and code against each other.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from bench.lint.accounting import (
    BytesAreCompulsory,
    FlopsFollowTheReference,
    PeaksExist,
    RegimeFits,
)
from bench.lint.bounds import (
    CalibrationHolds,
    HonestBaselinesPass,
    LowerPrecisionIsRefused,
    NoWorkIsRefused,
    ShortcutsAreRefused,
)
from bench.lint.domain import DomainIsSound
from bench.lint.drawing import CasesDiffer, ChangesWithTheSeed, InputsMatter
from bench.lint.operations import ForbiddenIsFound
from bench.lint.statement import (
    DomainIsTold,
    ForbiddenIsTold,
    NoHints,
    ShapesAreTold,
    TensorsAreTold,
    ToleranceIsTold,
)
from bench.lint.subject import CODE_ERRORS, Rule, Subject, read_error
from bench.problems import GradedProblem, read_problem
from bench.records import HARDWARE, read_yaml
from kbsite.errors import InputError
from kbsite.model.finding import Finding, Severity
from kbsite.model.hardware import Hardware

__all__ = ["RULES", "Progress", "Rule", "Subject", "hardware_table", "lint", "lint_folder"]

RULES: tuple[Rule, ...] = (
    ToleranceIsTold(),
    ShapesAreTold(),
    DomainIsTold(),
    ForbiddenIsTold(),
    TensorsAreTold(),
    NoHints(),
    PeaksExist(),
    RegimeFits(),
    ChangesWithTheSeed(),
    CasesDiffer(),
    InputsMatter(),
    FlopsFollowTheReference(),
    BytesAreCompulsory(),
    ForbiddenIsFound(),
    HonestBaselinesPass(),
    DomainIsSound(),
    NoWorkIsRefused(),
    LowerPrecisionIsRefused(),
    ShortcutsAreRefused(),
    CalibrationHolds(),
)
"""In the order that they are looked at: the quick ones first."""

Progress = Callable[[int, int, str], None]
"""Rules done, rules in all, and what is looked at next; empty at the end."""


@lru_cache(1)
def hardware_table(folder: Path = HARDWARE) -> dict[str, Hardware]:
    """The hardware whose peaks problems are held against, by id."""
    return {path.stem: read_yaml(path, Hardware) for path in sorted(folder.glob("*.yaml"))}


def lint_folder(
    folder: Path, device: str = "cpu", progress: Progress = lambda *_: None
) -> list[Finding]:
    """What is wrong with the problem in a folder; where it cannot be read, that alone."""
    try:
        problem = read_problem(folder)
    except InputError as error:
        return [read_error(error)]
    return lint(problem, device, progress)


def lint(
    problem: GradedProblem,
    device: str = "cpu",
    progress: Progress = lambda *_: None,
    rules: Sequence[Rule] = RULES,
) -> list[Finding]:
    """What is wrong with a problem: file, key, what was found, and what to do."""
    subject = Subject(problem, device, hardware_table())
    found: dict[str, Finding] = {}
    for done, rule in enumerate(rules):
        progress(done, len(rules), rule.name)
        for finding in _findings(rule, subject):
            found.setdefault(finding.text, finding)
    progress(len(rules), len(rules), "")
    return list(found.values())


def _findings(rule: Rule, subject: Subject) -> Iterator[Finding]:
    """What a rule finds; where the problem's code does not let it look, that."""
    try:
        yield from rule.findings(subject)
    except InputError as error:
        yield read_error(error)
    except CODE_ERRORS as error:
        place = _place(error, subject.graded.folder)
        # A rule that fails by itself is our fault, and no remark on a problem.
        if place is None:
            raise
        path, line = place
        yield Finding(Severity.ERROR, path, f"fails: {type(error).__name__}: {error}", line)


def _place(error: Exception, folder: Path) -> tuple[str, int] | None:
    """The file of the problem and its line that an error came from; None where it is from us."""
    places = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return next((one for one in reversed(places) if Path(one[0]).parent == folder), None)
