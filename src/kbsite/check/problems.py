"""Checks of problems/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding, Severity
from kbsite.model.problem import Problem
from kbsite.model.problem_files import LONGEST
from kbsite.model.problem_rules import is_to_be_graded, unsound
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.files import HERE, contents, not_read
from kbsite.store.parsing import read_text
from kbsite.store.problems import (
    PROBLEM,
    PROMPT,
    REFERENCE,
    folders_and_links,
    is_problem,
    read_problem,
)
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import as_findings


def problems_findings(problems: Path) -> Iterator[Finding]:
    """What is wrong with the problems in a folder."""
    folders, links = folders_and_links(problems)
    yield from links
    for folder in folders:
        yield from problem_findings(folder)


def problem_findings(folder: Path) -> Iterator[Finding]:
    """What is wrong with the problem in a folder."""
    if not is_slug(folder.name):
        yield Finding(Severity.ERROR, str(folder), f"as a problem's id, {SLUG_RULE}")
    refused = contents(folder)[1]
    if any(one.name == HERE for one in refused):
        # Nothing in it is missing for sure.
        yield from not_read(folder, refused)
        return
    if is_problem(folder):
        yield from not_read(folder, refused)
    if not (folder / PROMPT).is_file():
        message = "missing; expected the statement as the agent gets it"
        yield Finding(Severity.ERROR, str(folder / PROMPT), message)
    try:
        stored = read_problem(folder)
    except InvalidFileError as error:
        yield from as_findings(error)
        return
    if is_to_be_graded(stored.problem) and not (folder / REFERENCE).is_file():
        message = "missing; without it no solution can be graded"
        yield Finding(Severity.WARNING, str(folder / REFERENCE), message)
    yield from _remarks(stored.problem, folder / PROBLEM)
    yield from _garbled(folder)
    if (folder / PROMPT).is_file() and not stored.prompt.strip():
        yield Finding(Severity.ERROR, str(folder / PROMPT), "empty; expected the statement")


def _garbled(folder: Path) -> Iterator[Finding]:
    """Which texts of a problem are no UTF-8: pages show other letters then."""
    for path in (folder / PROMPT, folder / REFERENCE):
        if path.is_file() and not path.is_symlink():
            try:
                read_text(path, LONGEST)
            except InvalidFileError as error:
                yield from as_findings(error)


def _remarks(problem: Problem, path: Path) -> list[Finding]:
    remarks = Remarks(path)
    if not problem.title.strip():
        remarks.error("title", "empty; expected the problem's name")
    if not is_to_be_graded(problem):
        return remarks.findings()
    for key, message in unsound(problem):
        remarks.error(key, message)
    return remarks.findings()
