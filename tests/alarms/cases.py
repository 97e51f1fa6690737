"""Fixtures of alarms, and honest kernels: read, made runs of, and shown to the detectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kbsite.alarms import compare, fingerprints, scan
from kbsite.alarms.evidence import Evidence
from kbsite.model.alarm import Alarm, Level
from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.problems import PROBLEM, REFERENCE, StoredProblem, read_problem
from kbsite.store.run_folders import METRICS, RUN
from kbsite.store.runs import read_run

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
HONEST = HERE / "honest"
PROBLEMS = HERE / "problems"
EXPECT = "expect.yaml"
RUNS = "runs"
NO_PART_OF_A_RUN = (EXPECT, PROBLEM, REFERENCE, RUNS)

GROUPS = {
    "H": "seen on boards", "A": "replay and caching", "B": "stealing the answer", "C": "time",
    "D": "tampering", "E": "semantic shortcuts", "F": "the session",
}  # fmt: skip
"""What sort of trick a source is of, by its letter."""

BASE_RUN: Mapping[str, Any] = {
    "format": 1, "board": "cases", "problem_hash": None, "prompt_hash": None,
    "harness": "claude", "harness_version": "2.1.329", "model": "model-x", "effort": "high",
    "hardware": "h200", "budget_seconds": 2700, "end_reason": "finished", "exit_code": 0,
    "started": "2026-11-20T10:00:00Z", "ended": "2026-11-20T10:30:00Z",
}  # fmt: skip
BASE_METRICS: Mapping[str, Any] = {
    "format": 1, "status": "passed", "peak_fraction": 0.31, "grader": "grader 1",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Something that has to be raised: one kind of several, at a place if one is named."""

    any_of: tuple[str, ...]
    file: str = ""
    lines: tuple[int, ...] = ()
    """First and last line that an alarm may touch; anywhere if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """expect.yaml. Without `expected` the case is an honest one."""

    id: str
    title: str
    source: str = ""
    """Which trick it is: `H1` to `H24`, `A01` to `F11`."""
    problem: str = ""
    """Folder under problems/, where the case has no problem of its own."""
    eager: float | None = None
    expected: tuple[Expected, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A folder of fixtures/ or honest/."""

    folder: Path
    says: Expectation

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name


def cases(folder: Path) -> list[Case]:
    """The cases of a folder, by name."""
    return [Case(path.parent, _expected(path)) for path in sorted(folder.glob(f"*/{EXPECT}"))]


def _expected(path: Path) -> Expectation:
    told = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return msgspec.convert(told, Expectation)


def evidence(case: Case, scratch: Path) -> list[Evidence]:
    """The runs of a case, written below `scratch` and read as every other run is."""
    problem = _problem(case, scratch)
    parts = sorted((case.folder / RUNS).glob("*/")) or [case.folder]
    board = scratch / case.name / "cases"
    written = [_write_run(case, part, board) for part in parts]
    eager = case.says.eager
    return [Evidence(stored=read_run(folder), problem=problem, eager=eager) for folder in written]


def _problem(case: Case, scratch: Path) -> StoredProblem | None:
    if (case.folder / PROBLEM).is_file():
        own = scratch / case.name / "problem"
        own.mkdir(parents=True)
        for name in (PROBLEM, REFERENCE):
            if (case.folder / name).is_file():
                shutil.copyfile(case.folder / name, own / name)
        return read_problem(own)
    return read_problem(PROBLEMS / case.says.problem) if case.says.problem else None


def _write_run(case: Case, part: Path, board: Path) -> Path:
    """A run directory of the files in `part`, its run.json and metrics.json laid over others."""
    partial = new_run_folder(board, part.name)
    for path in sorted(part.iterdir()):
        if path.is_dir() and path.name != RUNS:
            shutil.copytree(path, partial / path.name)
        elif path.is_file() and path.name not in (*NO_PART_OF_A_RUN, RUN, METRICS):
            shutil.copyfile(path, partial / path.name)
    names = {"id": part.name, "problem": case.says.problem or "own"}
    run = {**BASE_RUN, **names, **case.says.run, **_overlay(part / RUN)}
    metrics = {**BASE_METRICS, **case.says.metrics, **_overlay(part / METRICS)}
    return complete(partial, msgspec.convert(run, Run), msgspec.convert(metrics, Metrics))


def _overlay(path: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return held


def raised(runs: Sequence[Evidence]) -> list[Alarm]:
    """What all detectors and comparisons say of the runs of a case."""
    found = [alarm for run in runs for alarm in scan(run)]
    taken = {run.stored.run.id: fingerprints(run) for run in runs}
    return found + [alarm for alarms in compare(taken).values() for alarm in alarms]


def catches(expected: Expected, alarm: Alarm) -> bool:
    """Whether an alarm is what was expected: its kind, heavy enough, where the trick is."""
    if alarm.kind not in expected.any_of or alarm.level is Level.NOTE:
        return False
    if expected.file and alarm.file != expected.file:
        return False
    if not expected.lines:
        return True
    first, last = expected.lines[0], expected.lines[-1]
    return bool(alarm.lines) and alarm.lines[0] <= last and alarm.lines[-1] >= first


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case, and what was raised about it."""

    case: Case
    alarms: tuple[Alarm, ...]

    @property
    def catching(self) -> list[Alarm]:
        """The alarms that were expected."""
        wanted = self.case.says.expected
        return [alarm for alarm in self.alarms if any(catches(one, alarm) for one in wanted)]

    @property
    def caught(self) -> bool:
        """Whether everything expected was raised."""
        return all(
            any(catches(one, alarm) for alarm in self.alarms) for one in self.case.says.expected
        )

    @property
    def highest(self) -> Level | None:
        """The level of the heaviest alarm."""
        return max((a.level for a in self.alarms), key=lambda level: level.weight, default=None)


def outcomes(folder: Path, scratch: Path) -> list[Outcome]:
    """Every case of a folder with what is raised about it."""
    return [Outcome(case, tuple(raised(evidence(case, scratch)))) for case in cases(folder)]


def table(fixtures: Sequence[Outcome], honest: Sequence[Outcome]) -> dict[str, object]:
    """caught.json: what the site publishes of the fixtures and of the honest kernels."""
    return {
        "fixtures": [
            {
                "id": one.case.name,
                "title": one.case.says.title,
                "source": one.case.says.source,
                "group": GROUPS[one.case.says.source[0]],
                "expected": sorted({kind for e in one.case.says.expected for kind in e.any_of}),
                "caught": [
                    {"kind": kind, "level": level}
                    for kind, level in sorted({(a.kind, a.level.value) for a in one.catching})
                ],
                "caught_all": one.caught,
            }
            for one in fixtures
        ],
        "honest": [
            {
                "id": one.case.name,
                "title": one.case.says.title,
                "highest": one.highest.value if one.highest else None,
                "kinds": sorted({alarm.kind for alarm in one.alarms}),
            }
            for one in honest
        ],
    }


def table_text(fixtures: Sequence[Outcome], honest: Sequence[Outcome]) -> str:
    """caught.json, as it is written."""
    return json.dumps(table(fixtures, honest), indent=1, ensure_ascii=False) + "\n"
