"""Checks that a grade is the grade of the solution that lies beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kbsite.check.grades import is_own
from kbsite.check.remarks import Remarks
from kbsite.model.finding import Finding
from kbsite.model.solution import solution_hash, solution_names
from kbsite.store.files import Stored
from kbsite.store.runs import METRICS, StoredRun

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
