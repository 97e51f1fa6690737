"""Files of a run that its grades write, and those that are not its problem's, though called so.

Standard library only, as bench needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kbsite.model.problem_files import counts
from kbsite.store.files import Stored, contents, digest
from kbsite.whole import is_left_over

CHECK_LOG = "check.log"
BENCHMARK_LOG = "benchmark.log"
GRADED = ("metrics.json", "samples.jsonl", CHECK_LOG, BENCHMARK_LOG)
"""Files of a run that a grade writes."""

GRADES = "grades"
"""Folder of a run that holds its earlier grades, each in a folder named by its time."""


def is_of_grade(name: str) -> bool:
    """Whether a file of a run is of its grades, or of one that was broken off."""
    return name in GRADED or name.startswith(f"{GRADES}/") or is_left_over(name)


def own_files(files: Iterable[Stored], problem: Path) -> Iterator[Stored]:
    """Those of a run's files that are called like a file of its problem, and are another one.

    OSError where one of either cannot be read.
    """
    true = {file.name: file for file in contents(problem)[0] if counts(file.name)}
    for file in files:
        meant = None if is_of_grade(file.name) else true.get(file.name.rpartition("/")[2])
        if meant is not None and digest(file.path) != digest(meant.path):
            yield file
