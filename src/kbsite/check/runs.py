"""Checks of run directories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

from kbsite.check.audits import audit_findings
from kbsite.check.ceilings import ceilings_findings
from kbsite.check.floors import floors_findings
from kbsite.check.grades import is_own, metrics_findings
from kbsite.check.known import Known
from kbsite.check.logs import transcript_findings
from kbsite.check.measured import samples_findings
from kbsite.check.remarks import Remarks
from kbsite.check.solutions import own_files_findings, solution_findings
from kbsite.check.used import account_findings, cost_findings
from kbsite.harnesses import BY_ID
from kbsite.model.finding import Finding, Severity
from kbsite.model.floor import FloorKind
from kbsite.model.run import Run
from kbsite.model.slugs import SLUG_RULE, id_of_run, is_slug
from kbsite.model.status import Status
from kbsite.store.files import Stored, contents, within
from kbsite.store.grades import earlier_grades
from kbsite.store.manifests import manifest_findings
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import (
    RUN,
    is_partial,
    linked_runs,
    run_folders,
    spelled,
    told_twice,
    unfinished,
)
from kbsite.store.runs import StoredRun, as_findings, read_run


def runs_findings(runs: Path, there: Known, boards: Sequence[Path] = ()) -> Iterator[Finding]:
    """What is wrong with the runs below a folder, and with the floors beside them.

    `boards` are folders that may hold floors and no runs.
    """
    seen, first = {runs, *boards}, dict[str, Path]()
    for folder in dict.fromkeys([runs, *boards]):
        yield from floors_findings(folder, there)
    folders = [*run_folders(runs)]
    yield from linked_runs(runs, folders)
    for folder in folders:
        if folder.parent not in seen:
            seen.add(folder.parent)
            yield from floors_findings(folder.parent, there)
        other = first.setdefault(spelled(folder.name), folder)
        if other != folder:
            message = told_twice(folder.name, other)
            yield Finding(Severity.ERROR, str(folder / RUN), message, key="id")
        yield from run_findings(folder, there)


def run_findings(folder: Path, there: Known) -> Iterator[Finding]:
    """What is wrong with the run in a folder."""
    if is_partial(folder):
        yield unfinished(folder)
        return
    try:
        every = contents(folder)
        stored = read_run(folder, listed=within(there.most, every))
    except InvalidFileError as error:
        yield from as_findings(error)
        return
    except OSError as error:
        yield Finding(Severity.ERROR, str(folder), f"cannot be read: {error.strerror}")
        return
    try:
        yield from _checked(stored, every[0], there)
    except OSError as error:
        # It was there when the folder was listed.
        message = f"cannot be read any more: {error.strerror}; check the run again"
        yield Finding(Severity.ERROR, str(error.filename or folder), message)


def _checked(stored: StoredRun, every: list[Stored], there: Known) -> Iterator[Finding]:
    yield from stored.findings
    yield from manifest_findings(stored, every, there.most)
    yield from _run_remarks(stored, there)
    yield from _grade(stored, there)
    yield from solution_findings(stored, every)
    yield from own_files_findings(stored, every, there)
    for earlier in earlier_grades(stored):
        yield from earlier.findings
        if earlier.metrics is not None:
            # It counts nowhere, and who was killed while he graded may have left half of it.
            for finding in _grade(earlier.of(stored, earlier.metrics), there):
                yield replace(finding, severity=Severity.WARNING)
    yield from account_findings(stored)
    yield from cost_findings(stored, there)
    yield from audit_findings(stored, there)
    yield from transcript_findings(stored)


def _grade(stored: StoredRun, there: Known) -> Iterator[Finding]:
    yield from metrics_findings(stored, there)
    yield from samples_findings(stored)
    yield from ceilings_findings(stored, there)


def _run_remarks(stored: StoredRun, there: Known) -> list[Finding]:
    remarks = Remarks(stored.folder / RUN)
    _identity(remarks, stored, stored.folder.absolute())
    _problem(remarks, stored.run, there)
    _hardware(remarks, stored)
    _amounts(remarks, stored.run)
    return remarks.findings()


def _identity(remarks: Remarks, stored: StoredRun, folder: Path) -> None:
    run = stored.run
    if run.board != folder.parent.name:
        message = f"expected the folder that it lies in, {folder.parent.name!r}, got {run.board!r}"
        remarks.error("board", message)
    _id(remarks, run)
    for key in ("problem", "harness", "hardware"):
        value = getattr(run, key)
        if value is not None and not is_slug(value):
            remarks.error(key, f"{SLUG_RULE}, got {value!r}")
    if run.is_floor:
        _floor(remarks, run)
        return
    if not run.model.strip():
        remarks.warn("model", "is blank; expected the name that its row on the board shows")
    if run.harness not in BY_ID and (stored.transcripts or run.origin is None):
        names = ", ".join(sorted(BY_ID))
        message = f"its transcripts cannot be read; known are {names}; got {run.harness!r}"
        remarks.warn("harness", message)


_FURTHER = r"(?:[._-]\d+)?"
"""What tells an id from an earlier one of the same second."""


def _id(remarks: Remarks, run: Run) -> None:
    """Say where a run is not called what it says that it is.

    Others may write a model, and the moment, into an id as they like: our own runner did it by a
    rule.
    """
    harness, problem = re.escape(run.harness), re.escape(run.problem)
    form = rf"\d{{8}}_\d{{6}}_{harness}_[a-z0-9][a-z0-9._-]*_{problem}"
    if not re.fullmatch(form + _FURTHER, run.id):
        message = f"expected the form <YYYYMMDD_HHMMSS>_{run.harness}_<model>_{run.problem}"
        remarks.warn("id", message)
    elif run.kbsite_version is not None:
        ours = id_of_run(run.started, run.harness, run.model, run.problem)
        if not re.fullmatch(re.escape(ours) + _FURTHER, run.id):
            message = f"expected {ours!r}, by its start, harness, model and problem; got {run.id!r}"
            remarks.warn("id", message)


def _floor(remarks: Remarks, run: Run) -> None:
    if run.floor is None:
        kinds = ", ".join(kind.value for kind in FloorKind)
        remarks.error("model", f"expected the kind of floor, one of {kinds}; got {run.model!r}")


def _problem(remarks: Remarks, run: Run, there: Known) -> None:
    if there.problems is None:
        return
    present = there.problems.get(run.problem)
    if present is None:
        if run.origin is not None and run.problem_hash is None:
            return  # of somebody else's, which does not have to lie here
        remarks.warn("problem", f"no problem is called {run.problem!r}")
    elif run.problem_hash not in (None, present):
        message = "the run worked on another version of the problem than the present one"
        remarks.warn("problem_hash", message)


def _hardware(remarks: Remarks, stored: StoredRun) -> None:
    """Say where a grade of our own is that of other hardware than the run's, by which it ranks."""
    run, metrics = stored.run, stored.metrics
    if not is_own(metrics) or metrics.status is not Status.PASSED:
        return
    graded_on = metrics.hardware or metrics.device
    if run.hardware not in (None, graded_on):
        remarks.warn("hardware", f"graded on {graded_on}, not on {run.hardware}")


def _times(remarks: Remarks, run: Run) -> None:
    if run.started and run.ended and run.ended < run.started:
        message = (
            f"expected {run.started.isoformat()} (started) or later, got {run.ended.isoformat()}"
        )
        remarks.error("ended", message)


def _amounts(remarks: Remarks, run: Run) -> None:
    _times(remarks, run)
    if run.budget_seconds is not None and run.budget_seconds <= 0:
        remarks.error("budget_seconds", f"expected more than 0 or null, got {run.budget_seconds}")
    amounts = {"seconds": run.seconds, "cost_usd": run.cost_usd, "answers": run.answers}
    amounts |= {f"usage.{f.name}": getattr(run.usage, f.name) for f in fields(run.usage)}
    for key, value in amounts.items():
        if value is not None and value < 0:
            remarks.error(key, f"expected 0 or more, or null where it is not known; got {value}")
    _parts_of_kinds(remarks, run)


def _parts_of_kinds(remarks: Remarks, run: Run) -> None:
    for part, kind in (("reasoning", "output"), ("cache_write_1h", "cache_write")):
        some, whole = getattr(run.usage, part), getattr(run.usage, kind)
        if some is not None and whole is not None and some > whole:
            remarks.warn(f"usage.{part}", f"is a part of {kind}, but {some} is more than {whole}")
