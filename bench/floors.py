"""Floors: the reference, compiled and library kernels of a problem, graded as solutions are.

Each becomes a run directory with the source that was graded and where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.commit import git_commit
from bench.floor_source import source
from bench.grading.grade import grade
from bench.grading.setting import Grade, Setting, Solution
from bench.problems import GradedProblem
from bench.progress import Told
from bench.records import plain
from bench.report import lines
from bench.results import write_grade
from bench.sealed import (
    METRICS,
    RUN,
    SOLUTION,
    complete,
    is_run,
    json_bytes,
    read_object,
    write_whole,
)
from kbsite import __version__
from kbsite.model.floor import FloorKind
from kbsite.model.grade import Outcome
from kbsite.model.run import FLOOR_HARNESS, FORMAT, Host, Run
from kbsite.model.slugs import id_of_run
from kbsite.model.status import EndReason, Status
from kbsite.store.folders import new_run_folder

FOLDER = "floors"
"""Folder among those of the boards that holds floors; they serve all boards."""


@dataclass(frozen=True, kw_only=True)
class FloorMade:
    """What became of a floor that was asked for."""

    problem: GradedProblem
    kind: FloorKind
    run: Path | None
    """Its run directory; None where the bench failed, and nothing was kept."""
    grade: Grade | None = None
    """None where it had been graded before."""
    log: str = ""


def make(
    problem: GradedProblem, kind: FloorKind, setting: Setting, runs: Path, told: Told
) -> FloorMade:
    """Grade a floor and store it as a run; InputError where the problem has no such floor.

    It may use what the problem forbids. Where the machine or the bench failed nothing is stored.
    """
    text = source(problem.folder, kind)
    started = datetime.now(UTC).replace(microsecond=0)
    allowed = replace(problem, problem=replace(problem.problem, forbidden=()))
    made = grade(Solution({SOLUTION: text.encode()}), allowed, _with_builds(setting), told)
    log = "".join(f"{line}\n" for line in lines(f"{problem.id}, {kind.label}", made.metrics))
    if made.metrics.outcome in (Outcome.INFRA, Outcome.UNSTABLE_CLOCKS):
        return FloorMade(problem=problem, kind=kind, run=None, grade=made, log=log)
    run = _run(problem, kind, setting, made, started)
    partial = new_run_folder(runs / FOLDER, run.id)
    write_whole(partial / SOLUTION, text.encode())
    write_whole(partial / RUN, json_bytes(plain(run)))
    write_grade(partial, made, log)
    return FloorMade(problem=problem, kind=kind, run=complete(partial), grade=made, log=log)


def _with_builds(setting: Setting) -> Setting:
    """The setting, in which a shape may be prepared for as long as a solution may be built.

    torch.compile makes code for a shape in the first call with it, and a machine that does other
    things as well may take minutes for that. Nobody competes with a floor.
    """
    patience = setting.patience
    return replace(setting, patience=replace(patience, setup=patience.build))


def _run(
    problem: GradedProblem, kind: FloorKind, setting: Setting, made: Grade, started: datetime
) -> Run:
    isolation = made.metrics.isolation
    return Run(
        format=FORMAT,
        id=id_of_run(started, FLOOR_HARNESS, kind.value, problem.id),
        board=FOLDER,
        problem=problem.id,
        problem_hash=problem.hash,
        prompt_hash=None,
        harness=FLOOR_HARNESS,
        harness_version=None,
        model=kind.value,
        effort=None,
        hardware=hardware_of(setting),
        host=_host(made.metrics.host),
        budget_seconds=None,
        started=started,
        ended=datetime.now(UTC).replace(microsecond=0),
        end_reason=EndReason.FINISHED,
        sandbox=f"{isolation.sandbox} ({isolation.level})" if isolation else None,
        kbsite_version=__version__,
        git_commit=git_commit(),
        origin="Its source was cut out of the problem's baselines.",
    )


def _host(facts: Mapping[str, str]) -> Host:
    """What a run says of its machine, of what the device told."""
    return Host(
        gpu=facts.get("gpu"), driver=facts.get("driver"), cuda=facts.get("cuda"),
        torch=facts.get("torch"), triton=facts.get("triton"), cpu=facts.get("cpu"),
        os=facts.get("os"),
    )  # fmt: skip


def hardware_of(setting: Setting) -> str | None:
    """Id of the hardware as boards name it: "cpu" for every CPU."""
    return setting.hardware_id or (setting.device.name if setting.device.name == "cpu" else None)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A floor that lies in a folder, and was right."""

    folder: Path
    run: Mapping[str, Any]
    metrics: Mapping[str, Any]

    def is_of(self, problem_id: str, problem_hash: str, hardware: str | None) -> bool:
        """Whether it is a floor of this version of a problem on this hardware."""
        held = (self.run.get("problem"), self.run.get("problem_hash"), self.run.get("hardware"))
        return held == (problem_id, problem_hash, hardware)


def _kept(runs: Path) -> Iterator[_Kept]:
    """The floors in a folder of runs that passed, in the order in which they were graded."""
    if not (runs / FOLDER).is_dir():
        return
    for folder in sorted((runs / FOLDER).iterdir()):
        if is_run(folder) and (folder / METRICS).is_file():
            metrics = read_object(folder / METRICS)
            if metrics.get("status") == Status.PASSED.value:
                yield _Kept(folder, read_object(folder / RUN), metrics)


def before(problem: GradedProblem, kind: FloorKind, setting: Setting, runs: Path) -> Path | None:
    """The run in which the same floor was graded before on the same hardware, if there is one.

    The same are problem, source, CPU or hardware, and at least as many rounds and calls.
    """
    solution = Solution({SOLUTION: source(problem.folder, kind).encode()}).hash
    cpu = setting.device.facts().get("cpu") if setting.device.name == "cpu" else None
    found = None
    for one in _kept(runs):
        same = one.is_of(problem.id, problem.hash, hardware_of(setting))
        if same and one.metrics.get("solution_hash") == solution and _as_thorough(one, setting):
            host = one.metrics.get("host") or {}
            found = one.folder if cpu in (None, host.get("cpu")) else found
    return found


def _as_thorough(one: _Kept, setting: Setting) -> bool:
    rounds, calls = one.metrics.get("rounds") or 0, one.metrics.get("calls_per_round") or 0
    return bool(rounds >= setting.rounds and calls >= setting.calls)


def graded_before(run: Path) -> Mapping[str, Any]:
    """metrics.json of a floor's run."""
    return read_object(run / METRICS)


def library_fraction(
    runs: Path, problem_id: str, problem_hash: str, hardware: str | None
) -> float | None:
    """peak_fraction of the library floor on some hardware, by the last run of it; None without."""
    found: float | None = None
    for one in _kept(runs):
        library = one.run.get("model") == FloorKind.LIBRARY.value
        if library and one.is_of(problem_id, problem_hash, hardware):
            found = one.metrics.get("peak_fraction")
    return found
