"""The arena holds any shape that may come, and brings nothing from one process to the next."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest

from bench.forbidden import FAMILIES
from bench.grading import rounds as module
from bench.grading.deadline import Deadline
from bench.grading.failures import Failure
from bench.grading.grade import silent
from bench.grading.layout import layout
from bench.grading.on_shape import Subject
from bench.grading.rounds import Rounds
from bench.grading.secret import Secret
from bench.grading.setting import Solution
from kbsite.model.grade import Outcome
from tests.bench.grading.setups import Quick
from tests.bench.grading.test_grade import setting
from tests.bench.toys import sound


def rounds(arena_bytes: int) -> Rounds:
    device = Quick()
    device.arena_bytes = arena_bytes
    how = dataclasses.replace(setting(), device=device)
    subject = Subject(sound(), sound().oracle(), how, Secret(b"s"), silent)
    return Rounds(Solution({}), subject)


@pytest.mark.parametrize("slots", [1, 4, 7, Quick.most_slots])
def test_the_arena_holds_every_shape_that_nobody_was_told(slots: int) -> None:
    largest = max(layout(sound(), shape, Quick()).slot_bytes for shape in sound().shapes("cpu"))
    made = rounds((10 * slots + 9) * largest // 10)
    drawn = random.Random(3)
    arena = made.arena()
    try:
        for _ in range(60):
            shape = sound().held_out(made.shapes, drawn)
            found = layout(sound(), shape, made.subject.setting.device)
            assert found.slot_bytes * found.slots <= arena.bytes.numel()
    finally:
        arena.close()


def test_a_process_finds_nothing_that_an_earlier_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rounds(1 << 20)
    arena = made.arena()
    arena.bytes.fill_(7)
    found: list[int] = []

    def process(*_: object, **__: object) -> Mock:
        found.append(int(arena.bytes.count_nonzero()))
        return Mock()

    monkeypatch.setattr(module, "Process", process)
    made.process(arena, tmp_path / "log")
    arena.close()

    assert found == [0]


def test_an_operation_of_several_forbidden_families_is_trapped_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch 2.11 lets nobody replace one twice: no worker started, and no grade could be made."""
    made = rounds(1 << 20)
    both = ("matmul", "dequantise")
    assert set(FAMILIES[both[0]].aten) & set(FAMILIES[both[1]].aten)
    problem = made.subject.problem
    problem = dataclasses.replace(
        problem, problem=dataclasses.replace(problem.problem, forbidden=both)
    )
    made = Rounds(made.solution, dataclasses.replace(made.subject, problem=problem))
    started: list[Sequence[str]] = []

    def process(*given: object, deadline: object) -> Mock:
        assert deadline is made.subject.deadline
        started.append(cast("Sequence[str]", given[2]))
        return Mock()

    monkeypatch.setattr(module, "Process", process)
    arena = made.arena()
    made.process(arena, tmp_path / "log")
    arena.close()

    (forbidden,) = started
    assert len(forbidden) == len(set(forbidden))
    assert set(forbidden) >= {name for one in both for name in FAMILIES[one].aten}


def test_a_round_that_would_begin_too_late_is_the_solutions_fault_and_not_the_machines(
    tmp_path: Path,
) -> None:
    """A worker that is not waited for would seem not to start: the grade would be made again."""
    made = rounds(1 << 20)
    late = Rounds(made.solution, dataclasses.replace(made.subject, deadline=Deadline(0)))
    arena = made.arena()
    try:
        with pytest.raises(Failure, match="as a whole") as caught:
            late.make(1, arena, tmp_path / "log")
    finally:
        arena.close()

    assert caught.value.outcome is Outcome.TIMEOUT
