"""A round: a fresh process, all shapes in a secret order, every call timed and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.devices import Arena
from bench.forbidden import FAMILIES, dispatched
from bench.grading.failures import Failure
from bench.grading.layout import layout
from bench.grading.on_shape import OnShape, Subject
from bench.grading.process import Process
from bench.grading.setting import Solution
from bench.grading.times import Empty, Times
from bench.problems import Shape
from kbsite.model.grade import Outcome


@dataclass(frozen=True)
class Round:
    """What a round found."""

    number: int
    empty: Empty
    shapes: dict[str, Times]
    watched: dict[str, str]
    building: float = 0.0
    """Seconds of it that the solution took to be imported and to prepare itself."""


class Rounds:
    """Makes the rounds of one grading."""

    def __init__(self, solution: Solution, subject: Subject) -> None:
        self.solution = solution
        self.subject = subject
        setting = subject.setting
        self.shapes = [
            shape
            for shape in subject.problem.shapes(setting.device.name)
            if not setting.shapes or shape.id in setting.shapes
        ]

    def arena(self) -> Arena:
        """Memory for all slots of any shape that takes no more than the largest of those told."""
        device = self.subject.setting.device
        found = [layout(self.subject.problem, shape, device) for shape in self.shapes]
        most = max(one.slot_bytes for one in found) * device.most_slots
        told = max(one.slot_bytes * one.slots for one in found)
        return device.arena(max(told, min(most, device.arena_bytes)))

    def process(self, arena: Arena, log: Path) -> Process:
        """A fresh worker, who finds nothing in the arena that an earlier one left there."""
        setting = self.subject.setting
        arena.bytes.zero_()
        families = dispatched(self.subject.problem.problem.forbidden)
        # An operation may be of several, and torch 2.11 lets nobody replace one twice.
        forbidden = list(dict.fromkeys(name for one in families for name in FAMILIES[one].aten))
        return Process(setting, arena, forbidden, log, deadline=self.subject.deadline)

    def make(self, number: int, arena: Arena, log: Path) -> Round:
        """The round of this number; Failure as soon as anything is not as it has to be."""
        subject = self.subject
        device = subject.setting.device
        subject.deadline.check("start")
        subject.tell("starting", number)
        device.settle()
        with self.process(arena, log) as process, device.watch() as watch:
            empty = OnShape(subject, process, arena, None, self.shapes[0], (number, 0)).empty()
            subject.stops.try_out(process)
            subject.tell("importing", number)
            process.load(self.solution.files, subject.setting.patience.build)
            found: dict[str, Times] = {}
            stopped = subject.stops.batches(subject.setting, len(self.shapes))
            for index, (shape, scored) in enumerate(self._order(number), start=1):
                on = OnShape(subject, process, arena, watch, shape, (number, index))
                times = on.measure(scored=scored, stopped=stopped)
                if scored:
                    found[shape.id] = times
            process.quiet()
            intruder = watch.intruder()
            if intruder:
                raise Failure(Outcome.INFRA, f"something else used the device: {intruder}")
            return Round(number, empty, found, dict(watch.facts()), process.building)

    def _order(self, number: int) -> list[tuple[Shape, bool]]:
        """The shapes, and one that nobody was told, in a secret order."""
        subject = self.subject
        drawn = subject.secret.random("order", number)
        order = [(shape, True) for shape in self.shapes]
        if subject.setting.held_out and subject.problem.problem.dimensions:
            order.append((subject.problem.held_out(self.shapes, drawn), False))
        drawn.shuffle(order)
        return order
