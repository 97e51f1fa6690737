"""Inputs of the calls on a shape: no two calls have the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch

from bench.grading.disclosure import Call
from bench.grading.on_shape import OnShape, Subject
from bench.grading.process import Process
from bench.grading.secret import Secret
from tests.bench.grading.setups import parts
from tests.bench.grading.test_grade import setting


def drawn(near: Sequence[bool]) -> list[Call]:
    """The calls of so many moves, nearly those before where `near` says so."""
    with parts() as made:
        subject = Subject(made.problem, made.oracle, setting(), Secret(b"n" * 32), lambda _: None)
        nobody = cast("Process", Path())  # no call is made
        on = OnShape(subject, nobody, made.arena, None, made.shape, (1, 1))
        return [call for one in near for call in on._calls(("ordinary",), near=one)]


def differing(one: Call, other: Call) -> dict[str, int]:
    """How many elements of each input differ."""
    return {name: int((tensor != other.inputs[name]).sum()) for name, tensor in one.inputs.items()}


def test_nearly_the_call_before_is_off_in_one_element_of_one_input() -> None:
    first, second = drawn([False, True])

    assert sorted(differing(first, second).values()) == [0, 0, 1]


def test_what_is_nearly_a_call_that_was_nearly_another_is_neither() -> None:
    calls = drawn([False, True, True, True, True])

    for number, call in enumerate(calls):
        for earlier in calls[:number]:
            assert sum(differing(call, earlier).values()) > 0


def test_inputs_that_were_drawn_stay_as_they_were() -> None:
    alone = drawn([False])[0]
    followed = drawn([False, True, True])[0]

    assert all(torch.equal(alone.inputs[name], followed.inputs[name]) for name in alone.inputs)


def test_each_call_lies_in_another_slot_than_the_two_before() -> None:
    slots = [call.slot for call in drawn([False] * 12)]

    assert all(
        slot not in slots[number - 2 : number] for number, slot in enumerate(slots) if number
    )
