"""Solutions in, grades out: what lies in a run directory, and how a grade gets into it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.grading.setting import Grade
from bench.problems import PROBLEM
from bench.records import plain
from bench.sealed import (
    METRICS,
    RUN,
    SAMPLES,
    SOLUTION,
    alone,
    check_seal,
    is_run,
    json_bytes,
    read_object,
    seal,
    write_whole,
)
from kbsite.errors import InputError, UsageError
from kbsite.model.grade import Metrics
from kbsite.model.grader_alarms import own_file_alarm
from kbsite.model.solution import solution_names
from kbsite.regular import read_regular
from kbsite.store.files import contents
from kbsite.store.folders import PARTIAL, make_folder, run_around
from kbsite.store.graded import (
    BENCHMARK_LOG,
    CHECK_LOG,
    GRADED,
    GRADES,
    is_of_grade,
    own_files,
)
from kbsite.whole import is_left_over

UNDATED = "undated"
"""Name of an earlier grade that does not say when it was made."""

MOST_BYTES = 64 << 20
"""A solution and its sidecars together; more is no source code."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """A solution that is to be graded, and where it lies."""

    files: Mapping[str, bytes]
    """By their paths beside solution.py; without solution.py where a run has none."""
    run: Path | None = None
    """The run directory that it lies in; None for files of nobody's run."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What run.json says."""

    @property
    def problem(self) -> str | None:
        """Id of the problem that the run worked on."""
        return self.told.get("problem")


def given(path: Path) -> Given:
    """The solution at a path: a run directory, a folder with a solution.py, or a file.

    UsageError if there is nothing; InputError if a run's files are not those that it was sealed
    with, or are too large.
    """
    if path.is_dir() and is_run(path):
        _refuse_large(path)
        told = read_object(path / RUN)
        check_seal(path, {name for name in _names(path) if is_of_grade(name)})
        return Given(files=dict(_solution(path)), run=path, told=told)
    if path.is_dir() and (path / SOLUTION).is_file():
        return Given(files=dict(_bounded(path, {name: name for name in _names(path)})))
    if path.is_file() and path.name != RUN:
        return Given(files={SOLUTION: read_regular(path, MOST_BYTES, links=True)})
    meant = "a run by its id or as runs/BOARD/ID, a solution.py, or a folder with one"
    raise UsageError(f"{path}: expected {meant}")


def _refuse_large(run: Path) -> None:
    """Raise InputError where a run's present grade is too large to be kept beside another one."""
    for file in contents(run)[0]:
        if file.name in GRADED and file.size > MOST_BYTES:
            message = f"{file.size} bytes; expected at most {MOST_BYTES} in a file of a grade"
            raise InputError(f"{message}; see what wrote it, and put it elsewhere", path=file.path)


def _names(folder: Path) -> list[str]:
    return [file.name for file in contents(folder)[0]]


def _solution(run: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a run's solution by the paths that it knows them by: sidecars lie beside it."""
    yield from _bounded(run, solution_names(_names(run)))


def _bounded(folder: Path, names: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    size = sum((folder / name).stat().st_size for name in names)
    if size > MOST_BYTES:
        message = f"the solution's files take {size} bytes; expected at most {MOST_BYTES}"
        raise InputError(message, path=folder)
    for name, known_as in names.items():
        yield known_as, (folder / name).read_bytes()


def alarms(solution: Given, problem: Path, problem_hash: str, hardware: str | None) -> list[str]:
    """What an auditor has to know of a run before its grade is believed, in sentences.

    A problem's files that lie in the run are compared with the true ones, which alone count.
    """
    if solution.run is None:
        return []
    files = contents(solution.run)[0]
    found = [own_file_alarm(file.name) for file in own_files(files, problem)]
    on = solution.told.get("hardware")
    if on is not None and on != hardware:
        found.append(f"The run is one of {on}, but was graded on {hardware or 'unknown hardware'}.")
    had = solution.told.get("problem_hash")
    if had is not None and had != problem_hash:
        found.append(
            f"The run worked on another version of the problem ({had[:12]}) than the one that it "
            f"was graded on ({problem_hash[:12]})."
        )
    return found


def store(run: Path, grade: Grade, log: str) -> Path | None:
    """Write a grade into a run; where its earlier grade was moved to, None if it had none.

    `log` is the grade as it was told. Each file is written whole and the manifest last: what is
    broken off before is told by `kbsite check`, and is graded again without loss. Of two who grade
    a run at once, the second waits until the first has written.
    """
    with alone(run):
        check_seal(run, {name for name in _names(run) if is_of_grade(name)})
        for name in filter(is_left_over, _names(run)):
            (run / name).unlink()
        earlier = _keep(run)
        for name, data in _files(grade, log).items():
            write_whole(run / name, data)
        seal(run)
        return earlier


def make_ready(folder: Path) -> None:
    """Make a folder that a grade is written into later; UsageError or MachineError where not.

    Whoever measures for minutes hears of it before, not after. Nothing is written into a run that
    way, whose manifest would tell that it changed, nor into a problem, which its hash would.
    """
    run = run_around(folder)
    if run is not None:
        message = f"{run} is a run; without --out its own grade is written into it"
        raise UsageError(f"--out {folder}: {message}, else name a folder of no run")
    if os.path.lexists(folder / PROBLEM):
        raise UsageError(
            f"--out {folder}: a problem is there, which each file changes; name another"
        )
    make_folder(folder)


def write_grade(folder: Path, grade: Grade, log: str) -> None:
    """Write a grade into a folder that is no run, or is not complete yet."""
    for name, data in _files(grade, log).items():
        write_whole(folder / name, data)


def _files(grade: Grade, log: str) -> dict[str, bytes]:
    lines = [json.dumps(plain(one), allow_nan=False) for one in grade.samples]
    return {
        METRICS: json_bytes(plain(grade.metrics)),
        SAMPLES: "".join(f"{line}\n" for line in lines).encode(),
        CHECK_LOG: grade.log.encode("utf-8", "replace"),
        BENCHMARK_LOG: log.encode("utf-8", "replace"),
    }


def with_alarms(grade: Grade, more: list[str]) -> Grade:
    """A grade with more alarms than its own."""
    metrics: Metrics = replace(grade.metrics, alarms=(*grade.metrics.alarms, *more))
    return replace(grade, metrics=metrics)


def _keep(run: Path) -> Path | None:
    """Copy the earlier grade of a run into a folder of its own, which is returned."""
    # No link: what it leads to is nothing of the run's.
    there = [name for name in _names(run) if name in GRADED]
    if not there:
        return None
    place = _free(run / GRADES, _time_of(run / METRICS))
    partial = place.with_name(f".{place.name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    for name in there:
        write_whole(partial / name, (run / name).read_bytes())
    partial.rename(place)
    return place


def _time_of(metrics: Path) -> str:
    """When a grade was made, as a folder's name."""
    told = read_object(metrics).get("graded") if metrics.is_file() else None
    try:
        made = datetime.fromisoformat(told or "")
    except ValueError:
        return UNDATED
    return f"{made.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _free(folder: Path, name: str) -> Path:
    number, place = 1, folder / name
    while place.exists():
        number += 1
        place = folder / f"{name}_{number}"
    return place
