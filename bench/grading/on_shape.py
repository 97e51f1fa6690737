"""The calls of one shape in one round: disclosed, timed, looked at, checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from bench.ceilings import ceilings
from bench.devices import Arena, Watch
from bench.grading.checks import Checker, Marks
from bench.grading.deadline import Deadline
from bench.grading.disclosure import Call, Disclosure
from bench.grading.failures import Failure
from bench.grading.layout import FEWEST_SLOTS, Layout, layout
from bench.grading.process import Process, Reply
from bench.grading.schedule import BATCHED, Move, schedule
from bench.grading.secret import Secret
from bench.grading.setting import (
    EMPTY_CALLS,
    HELD_CALLS,
    HELD_OUT_CALLS,
    HELD_TIMES,
    Setting,
    Step,
)
from bench.grading.stops import Stops, promptly
from bench.grading.times import NS_PER_MS, Batch, Empty, Lateness, Times
from bench.problems import GradedProblem, Oracle, Shape
from bench.worker import worker
from kbsite.model.accounting import Ceilings
from kbsite.model.grade import Outcome

if TYPE_CHECKING:
    import torch

UNSURE = (Outcome.INCORRECT, Outcome.NONFINITE, Outcome.PRECISION)
"""Outcomes that chance may have had a part in: the same call is made once more."""

BATCHES = 4
"""Batches of a round on a shape, where their length changes nothing."""

MS_PER_SECOND = 1e3

AGAIN = 3
"""Batches of a round on a shape that are made again, because the hardware had slowed down."""

MOST_DROPPED = 0.2
"""Share of a shape's calls that may be left out because the hardware had slowed down."""

Told = Callable[[Step], None]


@dataclass(frozen=True)
class Subject:
    """What is graded on, how, and with which secret."""

    problem: GradedProblem
    oracle: Oracle
    setting: Setting
    secret: Secret
    told: Told
    stops: Stops = field(default_factory=lambda: Stops(()))
    deadline: Deadline = field(default_factory=Deadline)

    def ceiling(self, shape: Shape) -> Ceilings:
        """The least times of a shape here."""
        return ceilings(self.problem, shape, self.setting.hardware, self.setting.anchors)

    @property
    def case(self) -> str:
        """The ordinary distribution of inputs."""
        return next(iter(self.problem.problem.cases), "ordinary")

    def tell(self, stage: str, number: int, shape: str = "", done: int = 0, of: int = 0) -> None:
        """Say where the grading stands."""
        self.told(Step(stage=stage, round=number, rounds=self.setting.rounds, shape=shape,
                       done=done, of=of))  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    reply: Reply
    wall: int
    """How long it took by our clock, nanoseconds."""
    marks: Marks
    seen: torch.Tensor
    """What was there of the outputs right after."""
    since: int
    """The moment when all had been laid out, for the watch."""


class OnShape:
    """One shape in one round."""

    def __init__(
        self, subject: Subject, process: Process, arena: Arena, watch: Watch | None, shape: Shape,
        place: tuple[int, int],
    ) -> None:  # fmt: skip
        import torch

        self._subject = subject
        self._process = process
        self._arena = arena
        self._watch = watch
        self._shape = shape
        self._number, self._index = place
        device = subject.setting.device
        # Whoever worked out from inputs how the next numbers come has those of inputs only.
        self._generator = torch.Generator(device=arena.bytes.device)
        self._own = torch.Generator(device=arena.bytes.device)
        self._own.manual_seed(subject.secret.number("grader", *place))
        self._layout: Layout = layout(subject.problem, shape, device)
        self._disclosure = Disclosure(arena, self._layout, device, self._own)
        self._checker = Checker(subject.problem, subject.oracle, shape, self._layout, arena, device)
        self._slot = 0
        self._drawn = 0
        self._last: Call | None = None

    def measure(self, *, scored: bool, stopped: int = 0) -> Times:
        """All calls of the shape; one that is not scored gets few, and none that are stopped."""
        setting = self._subject.setting
        self._tell_worker()
        times = Times()
        drawn = self._subject.secret.random("schedule", self._number, self._index)
        cases = self._subject.problem.problem.cases or (self._subject.case,)
        if scored:
            moves = schedule(setting.calls, cases, self._longest(), drawn, stopped)
        else:
            moves = [Move((drawn.choice(cases),)) for _ in range(HELD_OUT_CALLS)]
        of = sum(len(move.cases) for move in moves)
        until = monotonic() + setting.patience.shape
        again = AGAIN
        for move in moves:
            if monotonic() > until:
                said = f"{times.calls} of {of} calls took more than {setting.patience.shape:g} s"
                raise Failure(Outcome.TIMEOUT, f"{said} (shape {self._shape.id})")
            slowed = self._move(move, times)
            if slowed and move.batch and again:
                again -= 1
                moves.append(move)
                of += len(move.cases)
            elif slowed:
                times.dropped += len(move.cases)
            times.calls += len(move.cases)
            self._subject.tell("calling", self._number, self._shape.id, times.calls, of)
        if scored:
            self._refuse_unstable(times)
        times.errors = self._checker.errors
        return times

    def _refuse_unstable(self, times: Times) -> None:
        """Failure where too little is left that was measured at the hardware's speed."""
        if times.dropped > MOST_DROPPED * times.calls or not times.batches or not times.event:
            raise Failure(
                Outcome.UNSTABLE_CLOCKS,
                f"the hardware had slowed down in {times.dropped} of {times.calls} calls "
                f"(shape {self._shape.id}, round {self._number})",
            )

    def _longest(self) -> int:
        """The most calls of a batch; by the ceiling: a solution chooses its own speed.

        Where length changes nothing there are several batches: what disturbs one leaves the others.
        """
        setting, slots = self._subject.setting, self._layout.slots
        device = setting.device
        if device.batch_ms is None:
            return min(slots, int(setting.calls * BATCHED) // BATCHES)
        ms = self._subject.ceiling(self._shape).ceiling_ms
        return max(FEWEST_SLOTS, min(slots, int(device.batch_ms / ms)))

    def trace(self) -> None:
        """One call whose operations the worker lists in its log; it has to be right too."""
        self._tell_worker()
        calls = self._calls((self._subject.case,), near=False)
        self._check(calls, self._ask(worker.TRACE, calls))

    def load(self) -> tuple[Callable[[], None], int]:
        """A batch over all slots, to be made again and again with the same inputs; its calls."""
        calls = self._calls((self._subject.case,) * self._layout.slots, near=False)
        self._disclosure.write(calls)
        self._disclosure.reveal()
        slots = [call.slot for call in calls]
        patience = self._subject.setting.patience.call

        def again() -> None:
            self._process.ask(worker.CALL, shape=self._index, slots=slots, seconds=patience)

        return again, len(slots)

    def empty(self) -> Empty:
        """What calls of nothing take; where long batches are made, some take as long.

        These come after a batch was laid out, which makes an answer later too.
        """
        self._lay_out()
        walls = tuple(self._nothing(worker.EMPTY, 1).wall for _ in range(EMPTY_CALLS))
        if self._subject.setting.device.batch_ms is None:
            return Empty(walls)
        laid_out = self._longest()
        pairs = [
            [self._nothing(worker.HOLD, laid_out, times) for times in (1, HELD_TIMES)]
            for _ in range(HELD_CALLS)
        ]
        short, long = zip(*pairs, strict=True)
        return Empty(walls, Lateness.of(walls, short, long))

    def _nothing(self, command: int, laid_out: int, times: int = 1) -> Batch:
        """Calls of nothing, with all that goes before and after one that is graded."""
        calls = self._calls(("ordinary",) * laid_out, near=False)
        answer = self._ask(command, calls, (calls[0].slot,) * times)
        self._checker.rehearse(calls[:1])
        return Batch(times, answer.wall / NS_PER_MS, answer.reply.event / NS_PER_MS)

    def _tell_worker(self) -> None:
        """Lay the shape out, and have the solution prepare itself with dummy inputs."""
        self._lay_out()
        calls = self._calls((self._subject.case,), near=False)
        self._disclose(calls)
        self._go()
        slots = [call.slot for call in calls]
        self._process.prepare(self._index, slots, self._subject.setting.patience.setup)

    def _lay_out(self) -> None:
        payload = json.dumps(dict(self._layout.told)).encode()
        self._process.ask(worker.SHAPE, shape=self._index, payload=payload,
                          seconds=self._subject.setting.patience.call)  # fmt: skip

    def _move(self, move: Move, times: Times) -> bool:
        """Make a move and note its times; whether the hardware had slowed down."""
        calls = self._calls(move.cases, near=move.near)
        meanwhile = self._stops(move, times) if move.stopped else None
        answer = self._ask(worker.CALL, calls, meanwhile=meanwhile)
        try:
            self._check(calls, answer)
        except Failure as failure:
            raise self._again(calls, failure) from failure
        self._process.quiet()
        if move.stopped:
            return False
        slowed = self._watch is not None and self._watch.slowed(answer.since, self._watch.mark())
        times.note(move, answer.reply, answer.wall, slowed=slowed)
        return slowed

    def _check(self, calls: Sequence[Call], answer: Answer) -> None:
        """Failure if an output is not what it has to be, or was not there at once."""
        snapshots = self._checker.snapshot(calls)
        self._checker.check(snapshots, answer.marks, answer.seen, self._disclosure.guards)

    def _stops(self, move: Move, times: Times) -> Callable[[], None]:
        """What stops the worker in a move, at moments that nobody could tell before."""
        calls = len(move.cases)
        drawn = self._subject.secret.random("stops", self._number, self._index, self._drawn)
        seconds = times.usual(calls) / MS_PER_SECOND
        return lambda: self._subject.stops.during(self._process, seconds, drawn)

    def _disclose(self, calls: Sequence[Call]) -> int:
        """Lay inputs out while nothing of the worker runs; the moment of it, for the watch.

        What reads them before the go reads them with wrong lines, from a device that is at work
        before it was asked: that is looked for as well.
        """
        self._process.freeze()
        self._refuse_busy()
        self._disclosure.write(calls)
        since = self._watch.mark() if self._watch else 0
        if self._process.spins:
            self._rouse(calls)
        self._disclosure.reveal()
        return since

    def _rouse(self, calls: Sequence[Call]) -> None:
        """Let the worker go on, and have it make an empty call: it shall be awake at the go.

        A process that stood still would take up to hundreds of microseconds to answer. What it
        begins by itself now makes the device busy, and reads lines that are still wrong.
        """
        self._process.thaw()
        self._process.ask(worker.EMPTY, shape=self._index, slots=[call.slot for call in calls],
                          seconds=self._subject.setting.patience.call)  # fmt: skip
        self._refuse_busy()

    def _refuse_busy(self) -> None:
        busy = self._subject.setting.device.busy()
        if busy:
            raise Failure(Outcome.PROTOCOL, f"{busy}, before a call was asked for")

    def _go(self) -> int | None:
        """Let the worker go on; when that was, nanoseconds. None where it goes on already."""
        return None if self._process.spins else self._process.thaw()

    def _again(self, calls: Sequence[Call], failure: Failure) -> Failure:
        """The failure; another one if the same inputs give the right outputs now."""
        if failure.outcome not in UNSURE or len(calls) > 1:
            return failure
        try:
            self._check(calls, self._ask(worker.CALL, calls))
        except Failure:
            return failure
        said = "wrong at first, and right when it was called with the same inputs again"
        return Failure(Outcome.NONDETERMINISTIC, f"{said}: {failure.detail}")

    def _ask(
        self, command: int, calls: Sequence[Call], slots: Sequence[int] = (), *,
        meanwhile: Callable[[], None] | None = None,
    ) -> Answer:  # fmt: skip
        """Lay calls out and have them made, or others if there are `slots`.

        The clock runs while a command is on its way and answered, and no longer: to make one, and
        to look at what is there, takes times of their own. Whoever reports too early is seen with
        the work undone, or has only moved it from the single calls into the batches, where it
        counts.
        """
        laid_out = [call.slot for call in calls]
        setting = self._subject.setting
        marks = Marks(self._layout, laid_out, setting.device.probes, self._own)
        order = self._process.order(command, shape=self._index, slots=slots or laid_out,
                                    seconds=setting.patience.call)  # fmt: skip
        since = self._disclose(calls)
        with promptly() if meanwhile else nullcontext():
            thawed = self._go()
            reply = self._process.send(order, meanwhile)
        seen = marks.look(self._arena)
        setting.device.synchronize()
        wall = reply.came - (reply.sent if thawed is None else thawed)
        return Answer(reply, wall, marks, seen, since)

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
        seed = self._subject.secret.number("inputs", self._number, self._index, self._drawn)
        self._generator.manual_seed(seed)
        return dict(self._subject.oracle.inputs(case, self._generator, self._shape))

    def _near(self) -> dict[str, torch.Tensor]:
        """The inputs of the last call but for one element of one of them, taken from elsewhere."""
        import torch

        assert self._last is not None
        inputs = dict(self._last.inputs)
        names = [name for name, one in inputs.items() if one.is_floating_point() and one.numel()]
        if not names:
            return self._inputs(self._subject.case)
        self._drawn += 1
        drawn = self._subject.secret.random("near", self._number, self._index, self._drawn)
        name = drawn.choice(names)
        changed = inputs[name].clone(memory_format=torch.contiguous_format)
        flat = changed.view(-1).view(torch.uint8).view(changed.numel(), -1)
        flat[drawn.randrange(len(flat))] = flat[drawn.randrange(len(flat))].clone()
        inputs[name] = changed
        return inputs
