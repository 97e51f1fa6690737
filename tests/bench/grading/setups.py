"""A grader's parts around the sound toy problem, on this machine's processors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bench.devices import Arena
from bench.devices.cpu import Cpu
from bench.grading.disclosure import Call, Disclosure
from bench.grading.layout import Layout, layout
from bench.problems import GradedProblem, Shape
from tests.bench.toys import sound


class Quick(Cpu):
    """A CPU of one thread whose caches are not emptied: what is tested here is no time."""

    arena_bytes = 1 << 20

    def __init__(self) -> None:
        super().__init__(threads=1)

    def flush(self) -> None:
        """Nothing."""

    def settle(self) -> None:
        """Nothing."""


class Parts:
    """Problem, shape, layout, arena and what writes to it."""

    def __init__(self, problem: GradedProblem, shape: Shape, arena: Arena, device: Cpu) -> None:
        self.problem = problem
        self.shape = shape
        self.arena = arena
        self.device = device
        self.layout: Layout = layout(problem, shape, device)
        self.oracle = problem.oracle()
        self.generator = torch.Generator()
        self.generator.manual_seed(7)
        self.disclosure = Disclosure(arena, self.layout, device, self.generator)

    def call(self, slot: int, case: str = "ordinary") -> Call:
        """A call with fresh inputs."""
        return Call(slot, case, self.oracle.inputs(case, self.generator, self.shape))

    def answer(self, call: Call) -> None:
        """Write the right outputs, as an honest solution does."""
        right = self.oracle.reference(call.inputs, self.shape)
        for place in self.layout.outputs:
            self.layout.tensor(self.arena, call.slot, place).copy_(right[place.name])


@contextmanager
def parts() -> Iterator[Parts]:
    """The parts for the first shape of the toy."""
    problem, device = sound(), Quick()
    shape = problem.shapes("cpu")[0]
    found = layout(problem, shape, device)
    arena = device.arena(found.slot_bytes * found.slots)
    try:
        yield Parts(problem, shape, arena, device)
    finally:
        arena.close()
