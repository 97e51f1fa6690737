"""Inputs reach a worker at the last moment, and outputs start as something nobody wants."""

from __future__ import annotations

import torch

from bench.grading.disclosure import CANARIES, LARGE, Call, bytes_of, guarded
from bench.grading.layout import ALIGNMENT, FEWEST_SLOTS, GUARD
from kbsite.model.problem import Role
from tests.bench.grading.setups import Parts, Quick, parts


def wrong_bytes(made: Parts, slot: int, inputs: dict[str, torch.Tensor]) -> dict[str, int]:
    return {
        place.name: int(
            (made.layout.raw(made.arena, slot, place) != bytes_of(inputs[place.name])).sum()
        )
        for place in made.layout.inputs
    }


def test_tensors_of_all_slots_lie_apart_with_guards_between_them() -> None:
    with parts() as made:
        taken = sorted(
            (slot * made.layout.slot_bytes + place.offset, place.bytes)
            for slot in range(made.layout.slots)
            for place in made.layout.places
        )
        ends = [start + size + GUARD for start, size in taken]

    assert FEWEST_SLOTS <= made.layout.slots <= Quick.most_slots
    assert all(start % ALIGNMENT == 0 for start, _ in taken)
    assert all(end <= start for end, (start, _) in zip(ends, taken[1:], strict=False))
    assert ends[-1] <= made.layout.slot_bytes * made.layout.slots


def test_inputs_are_wrong_in_some_lines_until_the_go_and_right_from_then_on() -> None:
    with parts() as made:
        calls = [made.call(0), made.call(2)]
        made.disclosure.write(calls)
        before = [wrong_bytes(made, call.slot, dict(call.inputs)) for call in calls]
        made.disclosure.reveal()
        after = [wrong_bytes(made, call.slot, dict(call.inputs)) for call in calls]

        for place in made.layout.inputs:
            lines = max(1, place.bytes // made.device.line_bytes // CANARIES)
            for found in before:
                assert 0 < found[place.name] <= lines * made.device.line_bytes
    assert all(not any(found.values()) for found in after)


def test_wrong_lines_come_from_elsewhere_in_the_tensor_so_that_nobody_can_tell_them() -> None:
    with parts() as made:
        call = made.call(0)
        made.disclosure.write([call])
        for place in made.layout.inputs:
            width = min(made.device.line_bytes, place.bytes)
            lines = made.layout.raw(made.arena, 0, place)[: place.bytes // width * width]
            right = bytes_of(call.inputs[place.name])[: lines.numel()].view(-1, width)
            if len(right) < 2:
                continue
            wrong = [row for row in lines.view(-1, width) if not (right == row).all(1).any()]
            assert len(wrong) <= 1, "at most a line that was drawn to stand for itself"


def test_a_tensor_whose_lines_are_all_the_same_is_wrong_somewhere_too() -> None:
    with parts() as made:
        call = made.call(0)
        same = {name: torch.ones_like(one) for name, one in call.inputs.items()}
        made.disclosure.write([Call(0, "ordinary", same)])

        assert all(wrong_bytes(made, 0, same).values())


def test_outputs_and_guards_hold_what_no_solution_writes() -> None:
    with parts() as made:
        call = made.call(1)
        made.disclosure.write([call])
        poison = [made.layout.raw(made.arena, 1, place) for place in made.layout.places
                  if place.role is Role.OUT]  # fmt: skip
        guards = guarded(made.arena, made.layout, 1)

        assert all(bool((raw == raw[0]).all()) for raw in poison)
        assert all(int(raw[0]) != 0 for raw in poison)
        assert (guards == made.disclosure.guards).all()
        tensors = sum(place.bytes for place in made.layout.places)
        assert guards.shape == (made.layout.slot_bytes - tensors,), "no byte is left out"
        assert all(end - start >= GUARD for start, end in made.layout.gaps)
        assert (made.disclosure.guards >= LARGE).all()
        assert len(set(made.disclosure.guards.tolist())) == len(made.layout.places) + 1


def test_what_was_drawn_is_never_written_to() -> None:
    with parts() as made:
        call = made.call(0)
        kept = {name: one.clone() for name, one in call.inputs.items()}
        made.disclosure.write([call])
        for place in made.layout.inputs:
            made.layout.raw(made.arena, 0, place).fill_(3)
        made.disclosure.reveal()

    assert all(torch.equal(kept[name], one) for name, one in call.inputs.items())


def test_poison_is_another_one_each_time() -> None:
    with parts() as made:
        seen = set()
        for _ in range(12):
            made.disclosure.write([made.call(0)])
            made.disclosure.reveal()
            seen.add(int(made.layout.raw(made.arena, 0, made.layout.outputs[-1])[0]))

    assert len(seen) > 3
