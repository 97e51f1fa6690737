"""A round: a fresh process, all shapes in a secret order, every call timed and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench.devices import Arena, Watch
from bench.forbidden import FAMILIES
from bench.grading.checks import Checker, Marks
from bench.grading.disclosure import Call, Disclosure
from bench.grading.failures import Failure
from bench.grading.layout import Layout, layout
from bench.grading.process import Process, Reply
from bench.grading.schedule import Move, schedule
from bench.grading.secret import Secret
from bench.grading.setting import EMPTY_CALLS, HELD_OUT_CALLS, Setting, Solution, Step
from bench.problems import GradedProblem, Oracle, Shape
from bench.worker import worker
from kbsite.model.grade import Outcome, OutputError

if TYPE_CHECKING:
    import torch

NS_PER_MS = 1e6

UNSURE = (Outcome.INCORRECT, Outcome.NONFINITE, Outcome.PRECISION)
"""Outcomes that chance may have had a part in: the same call is made once more."""

Told = Callable[[Step], None]


@dataclass(frozen=True)
class Batch:
    """A batch: how many calls, and what they took together by both clocks, milliseconds."""

    calls: int
    wall: float
    event: float


@dataclass
class Times:
    """What the clocks showed on one shape in one round, milliseconds, and how far off it was."""

    event: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    """Single calls by the parent's clock, with all that an empty call takes."""
    host: list[float] = field(default_factory=list)
    batches: dict[int, list[Batch]] = field(default_factory=dict)
    """The two batches of each pair."""
    calls: int = 0
    dropped: int = 0
    errors: dict[str, list[OutputError]] = field(default_factory=dict)

    @property
    def slopes(self) -> list[float]:
        """How much longer the long batch of each pair took, for each call more in it."""
        return [
            (long.wall - short.wall) / (long.calls - short.calls) for short, long in self._pairs()
        ]

    @property
    def event_slopes(self) -> list[float]:
        """The same by the clock in the solution's process."""
        return [
            (long.event - short.event) / (long.calls - short.calls) for short, long in self._pairs()
        ]

    def _pairs(self) -> Iterator[tuple[Batch, Batch]]:
        for pair in self.batches.values():
            if len(pair) == 2:
                short, long = sorted(pair, key=lambda batch: batch.calls)
                yield short, long


@dataclass(frozen=True)
class Round:
    """What a round found."""

    number: int
    empty: tuple[float, ...]
    """What each empty call took by the parent's clock, milliseconds."""
    shapes: dict[str, Times]
    watched: dict[str, str]


class Rounds:
    """Makes the rounds of one grading."""

    def __init__(
        self, solution: Solution, problem: GradedProblem, setting: Setting, secret: Secret,
        told: Told,
    ) -> None:  # fmt: skip
        self._solution = solution
        self._problem = problem
        self._setting = setting
        self._secret = secret
        self._told = told
        self.oracle: Oracle = problem.oracle()
        listed = problem.shapes(setting.device.name)
        self.shapes = [
            shape for shape in listed if not setting.shapes or shape.id in setting.shapes
        ]

    def arena(self) -> Arena:
        """Memory for the largest of the shapes."""
        found = [layout(self._problem, shape, self._setting.device) for shape in self.shapes]
        return self._setting.device.arena(max(one.slot_bytes * one.slots for one in found))

    def process(self, arena: Arena, log: Path) -> Process:
        """A fresh worker."""
        setting = self._setting
        forbidden = [
            name for family in self._problem.problem.forbidden for name in FAMILIES[family].aten
        ]
        return Process(setting.device, setting.sandbox, arena, forbidden, setting.limits, log)

    def make(self, number: int, arena: Arena, log: Path) -> Round:
        """The round of this number; Failure as soon as anything is not as it has to be."""
        setting = self._setting
        self._tell("starting", number)
        setting.device.settle()
        with self.process(arena, log) as process, setting.device.watch() as watch:
            empty = self._empty(number, process, arena)
            self._tell("importing", number)
            process.load(self._solution.files, setting.patience.build)
            found: dict[str, Times] = {}
            for index, (shape, scored) in enumerate(self._order(number), start=1):
                on = OnShape(self, process, arena, watch, shape, (number, index))
                times = on.measure(scored=scored)
                if scored:
                    found[shape.id] = times
            process.quiet()
            intruder = watch.intruder()
            if intruder:
                raise Failure(Outcome.INFRA, f"something else used the device: {intruder}")
            return Round(number, empty, found, dict(watch.facts()))

    def _order(self, number: int) -> list[tuple[Shape, bool]]:
        """The shapes, and one that nobody was told, in a secret order."""
        drawn = self._secret.random("order", number)
        order = [(shape, True) for shape in self.shapes]
        if self._setting.held_out and self._problem.problem.dimensions:
            order.append((self._problem.held_out(self.shapes, drawn), False))
        drawn.shuffle(order)
        return order

    def _empty(self, number: int, process: Process, arena: Arena) -> tuple[float, ...]:
        """What calls that do nothing take, milliseconds: no solution is there yet."""
        on = OnShape(self, process, arena, None, self.shapes[0], (number, 0))
        return on.empty()

    def _tell(self, stage: str, number: int) -> None:
        self._told(Step(stage=stage, round=number, rounds=self._setting.rounds))

    def tell(self, number: int, shape: Shape, done: int, of: int) -> None:
        """Say how far a shape is."""
        rounds = self._setting.rounds
        self._told(Step(stage="calling", round=number, rounds=rounds, shape=shape.id,
                        done=done, of=of))  # fmt: skip

    @property
    def solution(self) -> Solution:
        """What is graded."""
        return self._solution

    @property
    def setting(self) -> Setting:
        """How is graded."""
        return self._setting

    @property
    def problem(self) -> GradedProblem:
        """What it is graded on."""
        return self._problem

    @property
    def secret(self) -> Secret:
        """What everything is drawn from."""
        return self._secret


class OnShape:
    """One shape in one round."""

    def __init__(
        self, rounds: Rounds, process: Process, arena: Arena, watch: Watch | None, shape: Shape,
        place: tuple[int, int],
    ) -> None:  # fmt: skip
        import torch

        self._rounds = rounds
        self._process = process
        self._arena = arena
        self._watch = watch
        self._shape = shape
        self._number, self._index = place
        device = rounds.setting.device
        self._generator = torch.Generator(device=arena.bytes.device)
        self._generator.manual_seed(rounds.secret.number("grader", *place))
        self._layout: Layout = layout(rounds.problem, shape, device)
        self._disclosure = Disclosure(arena, self._layout, device, self._generator)
        self._checker = Checker(rounds.problem, rounds.oracle, shape, self._layout, arena, device)
        self._slot = 0
        self._drawn = 0
        self._last: Call | None = None

    def measure(self, *, scored: bool) -> Times:
        """All calls of the shape; a shape that is not scored gets few."""
        setting = self._rounds.setting
        self._tell_worker()
        times = Times()
        drawn = self._rounds.secret.random("schedule", self._number, self._index)
        cases = self._rounds.problem.problem.cases or ("ordinary",)
        if scored:
            moves = schedule(setting.calls, cases, self._layout.slots, drawn)
        else:
            moves = [Move((drawn.choice(cases),)) for _ in range(HELD_OUT_CALLS)]
        of = sum(len(move.cases) for move in moves)
        for move in moves:
            self._move(move, times)
            times.calls += len(move.cases)
            self._rounds.tell(self._number, self._shape, times.calls, of)
        times.errors = self._checker.errors
        return times

    def trace(self) -> None:
        """One call whose operations the worker lists in its log; it has to be right too."""
        self._tell_worker()
        calls = self._calls((self._case(),), near=False)
        marks = self._marks(calls)
        self._disclosure.write(calls)
        self._disclosure.reveal()
        _, _, seen = self._ask(worker.TRACE, calls, marks)
        self._checker.check(self._checker.snapshot(calls), marks, seen, self._disclosure.guard)

    def empty(self) -> tuple[float, ...]:
        """What calls of nothing take by the parent's clock, milliseconds."""
        self._lay_out()
        found = []
        for _ in range(EMPTY_CALLS):
            calls = self._calls(("ordinary",), near=False)
            marks = self._marks(calls)
            self._disclosure.write(calls)
            self._disclosure.reveal()
            found.append(self._ask(worker.EMPTY, calls, marks)[1] / NS_PER_MS)
        return tuple(found)

    def _tell_worker(self) -> None:
        """Lay the shape out, and have the solution prepare itself with dummy inputs."""
        self._lay_out()
        calls = self._calls((self._case(),), near=False)
        self._disclosure.write(calls)
        self._disclosure.reveal()
        patience = self._rounds.setting.patience
        self._process.stage = "setup"
        self._process.ask(worker.SETUP, shape=self._index, slots=[call.slot for call in calls],
                          seconds=patience.setup)  # fmt: skip
        self._process.stage = "call"

    def _lay_out(self) -> None:
        import json

        payload = json.dumps(dict(self._layout.told)).encode()
        self._process.ask(worker.SHAPE, shape=self._index, payload=payload,
                          seconds=self._rounds.setting.patience.call)  # fmt: skip

    def _case(self) -> str:
        return next(iter(self._rounds.problem.problem.cases), "ordinary")

    def _move(self, move: Move, times: Times) -> None:
        calls = self._calls(move.cases, near=move.near)
        marks = self._marks(calls)
        self._disclosure.write(calls)
        busy = self._rounds.setting.device.busy()
        if busy:
            raise Failure(Outcome.PROTOCOL, f"{busy}, before a call was asked for")
        since = self._watch.mark() if self._watch else 0
        self._disclosure.reveal()
        command = worker.CALL if move.pair is None else worker.BATCH
        reply, wall, seen = self._ask(command, calls, marks)
        snapshots = self._checker.snapshot(calls)
        try:
            self._checker.check(snapshots, marks, seen, self._disclosure.guard)
        except Failure as failure:
            raise self._again(calls, failure) from failure
        self._process.quiet()
        slowed = self._watch is not None and self._watch.slowed(since, self._watch.mark())
        _note(times, move, reply, wall, slowed=slowed)

    def _again(self, calls: Sequence[Call], failure: Failure) -> Failure:
        """The failure; another one if the same inputs give the right outputs now."""
        if failure.outcome not in UNSURE or len(calls) > 1:
            return failure
        marks = self._marks(calls)
        self._disclosure.write(calls)
        self._disclosure.reveal()
        try:
            _, _, seen = self._ask(worker.CALL, calls, marks)
            snapshots = self._checker.snapshot(calls)
            self._checker.check(snapshots, marks, seen, self._disclosure.guard)
        except Failure:
            return failure
        said = "wrong at first, and right when it was called with the same inputs again"
        return Failure(Outcome.NONDETERMINISTIC, f"{said}: {failure.detail}")

    def _ask(
        self, command: int, calls: Sequence[Call], marks: Marks
    ) -> tuple[Reply, int, torch.Tensor]:
        """What the worker says, nanoseconds by our clock, and what was there at the mark.

        The clock stops when our own look at the outputs is through: whoever reports too early is
        either timed until the work is done, or seen with it undone.
        """
        slots = [call.slot for call in calls]
        patience = self._rounds.setting.patience.call
        started = perf_counter_ns()
        reply = self._process.ask(command, shape=self._index, slots=slots, seconds=patience)
        seen = marks.look(self._arena)
        self._rounds.setting.device.synchronize()
        return reply, perf_counter_ns() - started, seen

    def _marks(self, calls: Sequence[Call]) -> Marks:
        probes = self._rounds.setting.device.probes
        return Marks(self._layout, [call.slot for call in calls], probes, self._generator)

    def _calls(self, cases: Sequence[str], *, near: bool) -> list[Call]:
        calls = []
        for case in cases:
            inputs = self._near() if near and self._last else self._inputs(case)
            self._slot = (self._slot + 1) % self._layout.slots
            calls.append(Call(self._slot, case, inputs))
        self._last = calls[-1]
        return calls

    def _inputs(self, case: str) -> dict[str, torch.Tensor]:
        self._drawn += 1
        seed = self._rounds.secret.number("inputs", self._number, self._index, self._drawn)
        self._generator.manual_seed(seed)
        return dict(self._rounds.oracle.inputs(case, self._generator, self._shape))

    def _near(self) -> dict[str, torch.Tensor]:
        """The inputs of the last call but for one element of one of them, taken from elsewhere."""
        import torch

        assert self._last is not None
        inputs = dict(self._last.inputs)
        names = [name for name, one in inputs.items() if one.is_floating_point() and one.numel()]
        if not names:
            return self._inputs(self._case())
        drawn = self._rounds.secret.random("near", self._number, self._index, self._drawn)
        name = drawn.choice(names)
        changed = inputs[name].clone(memory_format=torch.contiguous_format)
        flat = changed.view(-1).view(torch.uint8).view(changed.numel(), -1)
        flat[drawn.randrange(len(flat))] = flat[drawn.randrange(len(flat))].clone()
        inputs[name] = changed
        return inputs


def _note(times: Times, move: Move, reply: Reply, wall: int, *, slowed: bool) -> None:
    if slowed:
        times.dropped += len(move.cases)
    elif move.pair is None:
        times.event.append(reply.event / NS_PER_MS)
        times.host.append(reply.host / NS_PER_MS)
        times.wall.append(wall / NS_PER_MS)
    else:
        batch = Batch(len(move.cases), wall / NS_PER_MS, reply.event / NS_PER_MS)
        times.batches.setdefault(move.pair, []).append(batch)
