"""Checks that a grade is the grade of the solution that lies beside it, and of what else does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from kbsite.check.grades import is_own
from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.grader_alarms import own_file_alarm
from kbsite.model.solution import solution_hash, solution_names
from kbsite.store.files import Stored
from kbsite.store.graded import own_files
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun

HASH = "solution_hash"
"""Key of a grade that says which files it is the grade of."""

MOST_BYTES = 64 << 20
"""Files of a solution together; our own grader grades none that are larger."""


def solution_findings(stored: StoredRun, files: Iterable[Stored]) -> Iterator[Finding]:
    """Where a grade of our own is that of other files than the run's solution.

    `files` are all that lie in the run, those that are too large to be shown among them.
    """
    told = stored.metrics.solution_hash
    if told is None or not is_own(stored.metrics):
        return
    held = {file.name: file for file in files}
    names = solution_names(held)
    if sum(held[name].size for name in names) > MOST_BYTES:
        computed = f"that of at most {MOST_BYTES} bytes"
    else:
        try:
            computed = solution_hash({known: held[name].read() for name, known in names.items()})
        except OSError:
            return  # told where the manifest is held against the files
    if told != computed:
        remarks = Remarks(stored.folder / METRICS)
        remarks.error(HASH, f"expected the hash of the run's solution, {computed}; got {told}")
        yield from remarks.findings()


def own_files_findings(
    stored: StoredRun, files: Iterable[Stored], there: Known
) -> Iterator[Finding]:
    """Where a grade of our own does not say that a run changed a file of its problem.

    Only where the problem is still the one that was graded.
    """
    metrics = stored.metrics
    problem = there.problem_folder(stored.run.problem, metrics.problem_hash)
    if problem is None or not is_own(metrics):
        return
    remarks = Remarks(stored.folder / METRICS)
    with suppress(OSError):  # told where the manifest is held against the files
        for file in own_files(files, problem):
            if not any(f"({file.name})" in one for one in metrics.alarms):
                remarks.error("alarms", f"missing is: {own_file_alarm(file.name)}")
    yield from remarks.findings()
