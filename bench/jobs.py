"""What `bench grade` does, for whichever command line asks: choices in, a stored grade out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.calibration import anchors_here
from bench.devices import DEVICES, Device
from bench.floors import FloorMade, before, library_fraction, make
from bench.floors import hardware_of as hardware_named
from bench.grading.grade import grade
from bench.grading.setting import CALLS, ROUNDS, Grade, Setting, Solution, Step
from bench.problems import BASELINES, PROBLEM, GradedProblem, read_problem
from bench.progress import Told
from bench.records import HARDWARE, read_yaml
from bench.report import lines
from bench.results import Given, alarms, given, make_ready, store, with_alarms, write_grade
from bench.sandbox import best, named
from bench.sandbox.box import Limits, Sandbox
from kbsite.errors import MachineError, UsageError
from kbsite.model.floor import FloorKind
from kbsite.model.grade import Outcome
from kbsite.model.hardware import Hardware

MEMORY_SHARE = 0.75
"""Share of the machine's memory that a solution may use."""

MACHINE = MachineError.exit_code
"""Exit code where the machine failed, and not what was asked of it."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How to grade, as a command line says it; what is empty is found out."""

    device: str = ""
    """Without one: cuda where there is a GPU that torch can use, else cpu."""
    hardware: str = ""
    """Id of a file of bench/hardware; without one, by the name that the driver tells."""
    sandbox: str = ""
    """Without one: the best that works here."""
    anchors: Path | None = None
    """What this machine was measured at; without one it is measured, once."""
    rounds: int = ROUNDS
    calls: int = CALLS
    shapes: tuple[str, ...] = ()
    """Ids of shapes; all without any."""
    problems: Path = Path("problems")
    runs: Path = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Graded:
    """A solution that was graded, and where its grade lies."""

    problem: GradedProblem
    grade: Grade
    log: str
    """The grade as a person reads it: one screen."""
    place: Path | None = None
    """The run, or the folder, that the grade was written into."""
    earlier: Path | None = None
    """Where the run's earlier grade was moved to."""


def exit_code(outcome: Outcome | None) -> int:
    """0 for a pass, MACHINE where the machine or the bench failed, 1 for every other outcome."""
    match outcome:
        case Outcome.PASS:
            return 0
        case Outcome.INFRA | Outcome.UNSTABLE_CLOCKS:
            return MACHINE
        case _:
            return 1


def find_problem(name: str, problems: Path) -> GradedProblem:
    """The problem of an id or in a folder; UsageError if there is none of that name."""
    for folder in (problems / name, Path(name)):
        if name and os.path.lexists(folder / PROBLEM):
            return read_problem(folder)
    there = sorted(path.parent.name for path in problems.glob(f"*/{PROBLEM}"))
    message = f"{name!r} is no problem; in {problems} there are: {', '.join(there) or 'none'}"
    raise UsageError(message)


def setting(choice: Choice, problem: GradedProblem, told: Told) -> Setting:
    """How a problem is graded here; MachineError where this machine cannot do it.

    `told` hears what is measured where this machine has to be calibrated first.
    """
    device = device_named(choice.device)
    _refuse_unknown(choice.shapes, problem, device.name)
    hardware_id, hardware = hardware_of(choice.hardware, device)
    return Setting(
        device=device,
        sandbox=_sandbox(choice.sandbox),
        anchors=anchors_here(device, choice.anchors, _measuring(told, choice)),
        hardware=hardware,
        hardware_id=hardware_id,
        rounds=choice.rounds,
        calls=choice.calls,
        shapes=choice.shapes,
        limits=Limits(memory_bytes=most_memory()),
        library_fraction=library_fraction(
            choice.runs, problem.id, problem.hash, hardware_id or device.name
        ),
    )


def most_memory() -> int:
    """Bytes that a solution may use: the rest of the machine's is for the grader and others."""
    return int(MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _measuring(told: Told, choice: Choice) -> Callable[[str, int, int], None]:
    def measured(what: str, done: int, of: int) -> None:
        stage = f"calibrating, {what}: {done} of {of}"
        told(Step(stage=stage, round=0, rounds=choice.rounds))

    return measured


def _refuse_unknown(shapes: tuple[str, ...], problem: GradedProblem, device: str) -> None:
    known = [shape.id for shape in problem.shapes(device)]
    for name in shapes:
        if name not in known:
            message = f"{problem.id} has no shape {name!r} on {device}; it has {', '.join(known)}"
            raise UsageError(message)


def device_named(name: str) -> Device:
    """The device of that name, which can be used here; without a name, the first that can be."""
    if name and name not in DEVICES:
        raise UsageError(f"{name!r} is no device; expected one of: {', '.join(DEVICES)}")
    if not name:
        name = next((one for one in DEVICES if DEVICES[one]().available() is None), "cpu")
    device = DEVICES[name]()
    reason = device.available()
    if reason:
        raise MachineError(f"{name}: {reason}")
    return device


def _sandbox(name: str) -> Sandbox:
    if not name:
        return best()
    chosen = named(name)
    reason = chosen.available()
    if reason:
        raise MachineError(f"{name}: {reason}")
    return chosen


def hardware_of(name: str, device: Device) -> tuple[str | None, Hardware | None]:
    """Id and record of the hardware whose ceilings count; None for a CPU, which is measured.

    Without a name, what the device calls itself is looked for among the aliases of all hardware.
    MachineError where it is known as another one than is named: in a cluster of several kinds a
    grade would be held against the wrong ceiling.
    """
    if device.name == "cpu":
        if name:
            raise UsageError(f"--hardware {name}: a CPU is held to what was measured on it")
        return None, None
    known = sorted(HARDWARE.glob("*.yaml"))
    found = _by_alias(device.facts(), known)
    for path in known:
        if path.stem == name:
            hardware = read_yaml(path, Hardware)
            # One that is called nothing cannot be told from its siblings.
            if found is not None and hardware.aliases and not _is_called(hardware, device.facts()):
                raise MachineError(f"--hardware: this device is {found[0]}, not {name}")
            return name, hardware
    if name:
        ids = ", ".join(path.stem for path in known)
        raise UsageError(f"--hardware {name}: there is no such hardware; known are: {ids}")
    if found is None:
        told = ", ".join(f"{key} {value}" for key, value in device.facts().items())
        message = f"no hardware in {HARDWARE} is called what this device is ({told})"
        raise MachineError(f"{message}; name it with --hardware, or add a file of it")
    return found


def _by_alias(facts: Mapping[str, str], known: list[Path]) -> tuple[str, Hardware] | None:
    for path in known:
        hardware = read_yaml(path, Hardware)
        if _is_called(hardware, facts):
            return path.stem, hardware
    return None


def _is_called(hardware: Hardware, facts: Mapping[str, str]) -> bool:
    """Whether a device with these facts is called as hardware is."""
    told = {value.strip().lower() for value in facts.values()}
    return not told.isdisjoint(alias.lower() for alias in hardware.aliases)


def grade_path(
    path: Path, named_problem: str, choice: Choice, out: Path | None, told: Told
) -> Graded:
    """Grade what lies at a path, and write the grade into `out`, else into the run that it is.

    Without a problem's name it is the one that the run names. Nothing is written into a run where
    the machine failed, or where only some shapes were graded.
    """
    solution = given(path)
    name = named_problem or solution.problem or ""
    if not name:
        raise UsageError(f"{path} does not say which problem it solves; name it with --problem")
    problem = find_problem(name, choice.problems)
    _refuse_other(solution, problem)
    if out is not None:
        make_ready(out)
    how = setting(choice, problem, told)
    made = grade(Solution(solution.files), problem, how, told)
    made = with_alarms(made, alarms(solution, problem.folder, problem.hash, hardware_named(how)))
    log = "".join(f"{line}\n" for line in lines(problem.id, made.metrics))
    graded = Graded(problem=problem, grade=made, log=log)
    if out is not None:
        write_grade(out, made, log)
        return replace(graded, place=out)
    if solution.run is None or choice.shapes or exit_code(made.metrics.outcome) == MACHINE:
        return graded
    return replace(graded, place=solution.run, earlier=store(solution.run, made, log))


def _refuse_other(solution: Given, problem: GradedProblem) -> None:
    if solution.run is not None and solution.problem not in (None, problem.id):
        message = f"{solution.run.name} worked on {solution.problem}, not on {problem.id}"
        raise UsageError(f"{message}; grade its solution.py to see how it does there")


def floors(
    names: Sequence[str], kinds: Sequence[FloorKind], choice: Choice, told: Told, *, again: bool
) -> Iterator[FloorMade]:
    """The floors of problems, each as soon as it is graded; of all problems without names.

    What was graded before is not graded again, unless `again`.
    """
    if choice.shapes:
        raise UsageError("--shape: a floor is graded on all shapes")
    for problem in [find_problem(name, choice.problems) for name in names or all_of(choice)]:
        how = setting(choice, problem, told)
        for kind in kinds:
            run = None if again else before(problem, kind, how, choice.runs)
            if run is not None:
                yield FloorMade(problem=problem, kind=kind, run=run)
            else:
                yield make(
                    problem, kind, how, choice.runs, _named(told, f"{problem.id}, {kind.value}")
                )


def all_of(choice: Choice) -> list[str]:
    """Ids of all problems that can be graded: those with baselines."""
    found = sorted(path.parent.name for path in choice.problems.glob(f"*/{BASELINES}"))
    if not found:
        raise UsageError(f"there is no problem with a {BASELINES} in {choice.problems}")
    return found


def _named(told: Told, name: str) -> Told:
    """Tells steps with a name before them."""

    def step(one: Step) -> None:
        told(replace(one, stage=f"{name}, {one.stage}"))

    return step
