"""Grading a solution: it starts at "failed", and needs every round, check and clock to pass."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TypeVar

from bench.devices import Arena, Device
from bench.grading.deadline import Deadline
from bench.grading.failures import Failure, printable
from bench.grading.on_shape import Subject, Told
from bench.grading.process import box_of_workers
from bench.grading.proof import prove
from bench.grading.rounds import Round, Rounds
from bench.grading.score import Scored, doubted, raw_samples, score
from bench.grading.secret import Secret
from bench.grading.setting import SOLUTION, Grade, Setting, Solution, Step
from bench.grading.stops import Stops
from bench.problems import GradedProblem
from bench.sandbox import self_test
from bench.sandbox.box import Box, Proven, Sandbox
from kbsite import __version__
from kbsite.errors import MachineError
from kbsite.model.accounting import BANDWIDTH, PRODUCTS
from kbsite.model.grade import Isolation, Metrics, Outcome, Proof
from kbsite.model.run import FORMAT
from kbsite.model.samples import Samples
from kbsite.regular import end_of
from kbsite.store.scratch import scratch_folder

LOG_BYTES = 200_000
"""Of what a solution prints in a grading, so much is kept."""

_Made = TypeVar("_Made")

TRIES = 3
"""How often a round is made where the machine, and not the solution, spoils it, and how often all
of them are where clocks disagree."""


def silent(step: Step) -> None:
    """Nobody is told how far a grading is."""


@dataclass
class _Run:
    """A grading under way: what there is so far."""

    secret: Secret
    rounds: list[Round] = field(default_factory=list)
    samples: tuple[Samples, ...] = ()
    proven: Proven | None = None
    proofs: tuple[Proof, ...] = ()
    stages: dict[str, float] = field(default_factory=dict)
    logs: list[Path] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds that something takes to a stage."""
        started = monotonic()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + monotonic() - started


def grade(
    solution: Solution, problem: GradedProblem, setting: Setting, told: Told = silent
) -> Grade:
    """The grade of a solution. Whatever a solution does, this returns; nothing of it is left.

    What spoils the grading but is no doing of the solution is the outcome INFRA.
    """
    run = _Run(Secret(setting.seed))
    with scratch_folder("grade") as folder:
        try:
            scored = _graded(run, solution, problem, setting, told, folder)
            outcome, detail = Outcome.PASS, scored.sentence
        except Failure as failure:
            scored = Scored()
            outcome, detail = failure.outcome, failure.detail
        except (MachineError, OSError, MemoryError, RuntimeError) as error:
            scored, run.samples = Scored(), ()
            outcome, detail = _blamed(error), printable(f"{type(error).__name__}: {error}"[:500])
            (folder / "grader.log").write_text(traceback.format_exc(), "utf-8")
            run.logs.append(folder / "grader.log")
        log = _log(run.logs)
    metrics = _metrics(run, solution, problem, setting, scored)
    return Grade(
        metrics=replace(metrics, outcome=outcome, status=outcome.status, detail=detail),
        samples=run.samples,
        log=log,
    )


def _blamed(error: Exception) -> Outcome:
    """INFRA, but for a device that is full: who fills it would choose to be graded again."""
    return Outcome.OOM if type(error).__name__ == "OutOfMemoryError" else Outcome.INFRA


def _graded(
    run: _Run, solution: Solution, problem: GradedProblem, setting: Setting, told: Told,
    folder: Path,
) -> Scored:  # fmt: skip
    if not solution.files.get(SOLUTION, b"").strip():
        raise Failure(Outcome.NO_SOLUTION, f"there is no {SOLUTION}, or nothing in it")
    reason = setting.device.available() or setting.sandbox.available()
    if reason:
        raise MachineError(reason)
    with run.stage("isolation"):
        told(Step(stage="testing the sandbox", round=0, rounds=setting.rounds))
        run.proven = _proven(setting.sandbox, setting.device)
    stops = Stops.of(problem.problem.forbidden, setting.device.name)
    deadline = Deadline(setting.patience.whole)
    subject = Subject(problem, problem.oracle(), setting, run.secret, told, stops, deadline)
    rounds = Rounds(solution, subject)
    if not rounds.shapes:
        raise MachineError(f"{problem.id} has no shapes for {setting.device.name}")
    arena = rounds.arena()
    try:
        scored = _scored(run, rounds, arena, folder)
        run.proofs = stops.proofs()
        if setting.trace:
            with run.stage("proofs"):
                told(Step(stage="proving the work", round=setting.rounds, rounds=setting.rounds))
                log = folder / "proof.log"
                run.logs.append(log)
                run.proofs = (*prove(rounds, arena, log), *run.proofs)
    finally:
        arena.close()
    return scored


def _scored(run: _Run, rounds: Rounds, arena: Arena, folder: Path) -> Scored:
    """The score; a clock that another program may have got in the way of gets other tries.

    What is done on purpose happens again.
    """
    try:
        return _tried(
            lambda attempt: _measured(run, rounds, attempt, arena, folder),
            Outcome.CLOCK_MISMATCH,
        )
    except Failure as failure:
        raise doubted(failure, run.rounds) from failure


def _proven(sandbox: Sandbox, device: Device) -> Proven:
    """What a sandbox keeps from workers; who grades many solutions tries it out once."""
    box = box_of_workers(device, Path(os.devnull))
    return _tried_out(sandbox, box.readable, box.devices, box.hidden)


@cache
def _tried_out(
    sandbox: Sandbox, readable: tuple[Path, ...], devices: tuple[Path, ...],
    hidden: tuple[Path, ...],
) -> Proven:  # fmt: skip
    like = Box(log=Path(os.devnull), readable=readable, devices=devices, hidden=hidden)
    return self_test(sandbox, like=like)


def _tried(make: Callable[[int], _Made], *spoiled: Outcome) -> _Made:
    """What `make(1)` returns; what `make(2)` and so on does while that ends as the machine may."""
    for attempt in range(1, TRIES):
        try:
            return make(attempt)
        except Failure as failure:
            if failure.outcome not in spoiled:
                raise
    return make(TRIES)


def _measured(run: _Run, rounds: Rounds, attempt: int, arena: Arena, folder: Path) -> Scored:
    """The score of all rounds, made anew at each attempt."""
    setting = rounds.subject.setting
    first = 1 + (attempt - 1) * setting.rounds
    with run.stage("rounds"):
        run.rounds = [
            _round(run, rounds, number, arena, folder)
            for number in range(first, first + setting.rounds)
        ]
    built = sum(one.building for one in run.rounds)
    run.stages["rounds"] -= built
    run.stages["build"] = run.stages.get("build", 0.0) + built
    with run.stage("score"):
        # What was measured tells a reader more than that it was refused.
        run.samples = raw_samples(run.rounds, rounds.subject)
        return score(run.rounds, rounds.subject)


def _round(run: _Run, rounds: Rounds, number: int, arena: Arena, folder: Path) -> Round:
    """A round; one that the machine spoiled is made again."""

    def made(attempt: int) -> Round:
        log = folder / f"round-{number}-{attempt}.log"
        run.logs.append(log)
        return rounds.make(number, arena, log)

    return _tried(made, Outcome.UNSTABLE_CLOCKS, Outcome.INFRA)


def _metrics(
    run: _Run, solution: Solution, problem: GradedProblem, setting: Setting, scored: Scored
) -> Metrics:
    return Metrics(
        format=FORMAT,
        status=Outcome.INFRA.status,
        peak_fraction=scored.peak_fraction,
        interval=scored.interval,
        achievable_fraction=scored.achievable_fraction,
        ms=scored.ms,
        shapes=scored.shapes,
        alarms=scored.alarms,
        proofs=run.proofs,
        isolation=_isolation(run.proven),
        device=setting.device.name,
        hardware=setting.hardware_id,
        anchors=_anchors(setting),
        host=_host(run, setting),
        problem_hash=problem.hash,
        solution_hash=solution.hash,
        commitment=run.secret.commitment,
        rounds=setting.rounds,
        calls_per_round=setting.calls,
        bootstrap_seed=scored.bootstrap_seed,
        stages={name: round(seconds, 3) for name, seconds in run.stages.items()},
        grader=f"kbsite {__version__}",
        graded=datetime.now(UTC).replace(microsecond=0),
    )


def _anchors(setting: Setting) -> Mapping[str, float]:
    rates = {f"{name}{BANDWIDTH}": rate for name, rate in setting.anchors.gb_per_second.items()}
    return rates | {f"{name}{PRODUCTS}": rate for name, rate in setting.anchors.tflops.items()}


def _host(run: _Run, setting: Setting) -> Mapping[str, str]:
    watched = run.rounds[-1].watched if run.rounds else {}
    return {**setting.device.facts(), **watched}


def _isolation(proven: Proven | None) -> Isolation | None:
    if proven is None:
        return None
    return Isolation(
        sandbox=proven.sandbox,
        level=proven.level,
        proven={one.name: one.how for one in proven.claims if one.held},
        missing={one.name: one.seen for one in proven.claims if not one.held},
    )


def _log(paths: list[Path]) -> str:
    """What was printed, the end of it where it is long."""
    written = [path for path in paths if path.is_file() and path.stat().st_size]
    most = LOG_BYTES // max(1, len(paths))
    return "\n".join(f"== {path.stem}\n{end_of(path, most)}" for path in written)
