"""What is wrong with runs, problems and kbsite.yaml, before a reader of the site finds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kbsite.check.known import Known, known
from kbsite.check.problems import problem_findings, problems_findings
from kbsite.check.runs import run_findings, runs_findings
from kbsite.check.secrets import secret_findings
from kbsite.check.site import site_findings
from kbsite.check.targets import Kind, Target, target
from kbsite.errors import UsageError
from kbsite.model.finding import Finding
from kbsite.store.hardware import read_all_hardware, read_hardware
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import as_findings
from kbsite.store.settings import Settings, read_settings

__all__ = ["check"]


def check(paths: Sequence[Path], settings: Settings | None = None) -> Iterator[Finding]:
    """What is wrong with the files and folders at `paths`; without paths, with all of a site.

    A path that is not there, or is nothing that kbsite reads, is a UsageError, told at once.
    `settings` say which problems there are; without them, nothing is held against problems.
    """
    if not paths and settings is None:
        raise UsageError("nothing to check: name a run, a problem or a kbsite.yaml")
    targets = [target(path, settings) for path in paths]
    return _findings(targets, settings)


def _findings(targets: list[Target], settings: Settings | None) -> Iterator[Finding]:
    if not targets and settings is not None:
        yield from site_findings(settings)
        yield from secret_findings((), settings)
        return
    there = known(settings)
    for one in targets:
        yield from _of(one, there)
        yield from secret_findings([one], settings)


def _of(one: Target, there: Known) -> Iterator[Finding]:
    match one.kind:
        case Kind.SITE:
            yield from _site(one.path)
        case Kind.RUN:
            yield from run_findings(one.path, there)
        case Kind.RUNS:
            yield from runs_findings(one.path, there)
        case Kind.PROBLEM:
            yield from problem_findings(one.path)
        case Kind.PROBLEMS:
            yield from problems_findings(one.path)
        case Kind.HARDWARE:
            yield from _hardware(one.path)


def _hardware(path: Path) -> Iterator[Finding]:
    try:
        read_all_hardware(path) if path.is_dir() else read_hardware(path)
    except InvalidFileError as error:
        yield from as_findings(error)


def _site(path: Path) -> Iterator[Finding]:
    try:
        settings = read_settings(path)
    except InvalidFileError as error:
        yield from as_findings(error)
        return
    yield from site_findings(settings)
    yield from secret_findings((), settings)
