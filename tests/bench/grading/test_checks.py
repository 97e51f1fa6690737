"""What is found after a call: everything that is not as it has to be, by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from bench.grading.checks import Checker, Marks
from bench.grading.disclosure import Call
from bench.grading.failures import Failure
from bench.grading.layout import GUARD
from kbsite.model.grade import Outcome
from tests.bench.grading.setups import Parts, parts

Deed = Callable[[Parts, Sequence[Call]], None]


def checker(made: Parts) -> Checker:
    return Checker(made.problem, made.oracle, made.shape, made.layout, made.arena, made.device)


def one_move(made: Parts, checks: Checker, slots: Sequence[int], before: Deed, after: Deed) -> None:
    """A move whose solution does `before`, and `after` it said that it was done."""
    calls = [made.call(slot) for slot in slots]
    marks = Marks(made.layout, slots, made.device.probes, made.generator)
    made.disclosure.write(calls)
    made.disclosure.reveal()
    before(made, calls)
    seen = marks.look(made.arena)
    after(made, calls)
    snapshots = checks.snapshot(calls)
    checks.check(snapshots, marks, seen, made.disclosure.guards)


def right(made: Parts, calls: Sequence[Call]) -> None:
    for call in calls:
        made.answer(call)


def nothing(made: Parts, calls: Sequence[Call]) -> None:  # noqa: ARG001
    return


def found(before: Deed, after: Deed = nothing, slots: Sequence[int] = (0,)) -> Failure:
    with parts() as made, pytest.raises(Failure) as caught:
        one_move(made, checker(made), slots, before, after)
    return caught.value


def test_right_calls_pass_one_after_the_other_and_in_batches() -> None:
    with parts() as made:
        checks = checker(made)
        one_move(made, checks, (0,), right, nothing)
        one_move(made, checks, (1, 2), right, nothing)
        one_move(made, checks, (0,), right, nothing)

    assert checks.right == 4
    assert set(checks.errors) == {place.name for place in made.layout.outputs}
    assert all(error.largest < 1 for errors in checks.errors.values() for error in errors)


def test_outputs_that_nobody_wrote_are_wrong() -> None:
    failure = found(nothing)

    assert failure.outcome in (Outcome.INCORRECT, Outcome.NONFINITE)
    assert "call 1; 0 calls before were right" in failure.detail
    assert "shape" in failure.detail


def test_one_wrong_call_of_a_batch_is_enough() -> None:
    def all_but_the_second(made: Parts, calls: Sequence[Call]) -> None:
        right(made, [calls[0], calls[2]])

    failure = found(all_but_the_second, slots=(0, 1, 2))

    assert failure.outcome in (Outcome.INCORRECT, Outcome.NONFINITE)
    assert "1 calls before were right" in failure.detail


def test_an_answer_to_other_inputs_is_wrong() -> None:
    def stale(made: Parts, calls: Sequence[Call]) -> None:
        other = made.call(calls[0].slot)
        made.answer(other)

    assert found(stale).outcome is Outcome.INCORRECT


def test_outputs_that_come_after_the_word_are_seen() -> None:
    failure = found(nothing, after=right)

    assert failure.outcome is Outcome.LATE_WRITE


def test_the_last_byte_alone_may_not_come_late() -> None:
    def last_byte(made: Parts, calls: Sequence[Call]) -> None:
        made.layout.raw(made.arena, calls[0].slot, made.layout.outputs[-1])[-1] ^= 1

    assert found(right, after=last_byte).outcome is Outcome.LATE_WRITE


def test_outputs_of_earlier_calls_are_looked_at_again() -> None:
    def also_the_first(made: Parts, calls: Sequence[Call]) -> None:
        right(made, calls)
        made.layout.raw(made.arena, 0, made.layout.outputs[0])[5] ^= 255

    with parts() as made:
        checks = checker(made)
        one_move(made, checks, (0,), right, nothing)
        with pytest.raises(Failure) as caught:
            one_move(made, checks, (1,), also_the_first, nothing)

    assert caught.value.outcome is Outcome.LATE_WRITE
    assert "later calls" in caught.value.detail


@pytest.mark.parametrize("at", [0, -1])
def test_an_input_that_was_changed_is_named(at: int) -> None:
    def changing(made: Parts, calls: Sequence[Call]) -> None:
        right(made, calls)
        made.layout.raw(made.arena, calls[0].slot, made.layout.inputs[0])[at] ^= 1

    failure = found(changing)

    assert failure.outcome is Outcome.INPUT_MUTATED
    assert made_name() in failure.detail


def made_name() -> str:
    with parts() as made:
        return made.layout.inputs[0].name


def test_bytes_beside_a_tensor_belong_to_nobody() -> None:
    def beyond(made: Parts, calls: Sequence[Call]) -> None:
        right(made, calls)
        made.layout.guard(made.arena, calls[0].slot, made.layout.outputs[0])[0] += 1

    assert found(beyond).outcome is Outcome.OUT_OF_BOUNDS


@pytest.mark.parametrize("slot", [0, 1])
def test_no_byte_before_or_behind_any_tensor_is_anybodys(slot: int) -> None:
    with parts() as made:
        places = made.layout.places
        edges = [place.offset - 1 for place in places]
        edges += [place.offset + place.bytes for place in places]
        edges += [made.layout.slot_bytes - 1, 0]
    for edge in sorted(set(edges)):

        def beside(made: Parts, calls: Sequence[Call], edge: int = edge) -> None:
            right(made, calls)
            made.arena.bytes[calls[0].slot * made.layout.slot_bytes + edge] += 1

        assert found(beside, slots=(slot,)).outcome is Outcome.OUT_OF_BOUNDS, edge


def test_a_copy_that_goes_on_behind_both_tensors_is_seen() -> None:
    def copying(made: Parts, calls: Sequence[Call]) -> None:
        right(made, calls)
        read, written = made.layout.inputs[0], made.layout.outputs[0]
        behind = made.layout.guard(made.arena, calls[0].slot, read)[:GUARD]
        made.layout.guard(made.arena, calls[0].slot, written)[:GUARD].copy_(behind)

    assert found(copying).outcome is Outcome.OUT_OF_BOUNDS


def test_nan_is_no_answer() -> None:
    def nan(made: Parts, calls: Sequence[Call]) -> None:
        right(made, calls)
        place = made.layout.outputs[0]
        made.layout.tensor(made.arena, calls[0].slot, place).view(-1)[3] = torch.nan

    failure = found(nan)

    assert failure.outcome is Outcome.NONFINITE


def test_marks_lie_in_the_outputs_and_on_their_last_byte() -> None:
    with parts() as made:
        marks = Marks(made.layout, (1,), 64, made.generator)
        place = made.layout.outputs[0]
        made.arena.bytes.zero_()
        made.layout.raw(made.arena, 1, place)[-1] = 9

        assert (marks.look(made.arena) == 9).any()
        made.arena.bytes.fill_(4)
        made.layout.raw(made.arena, 1, place).fill_(5)
        assert (marks.look(made.arena) == 5).all()
