"""What is looked at after each move: all of every output, the inputs, and what lies beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.devices import Arena, Device
from bench.grading.disclosure import Call, bytes_of, guarded
from bench.grading.failures import Failure
from bench.grading.layout import Layout, Place, typed
from bench.numerics import Compared, compare
from bench.problems import GradedProblem, Oracle, Shape
from kbsite.model.grade import Outcome, OutputError

if TYPE_CHECKING:
    import torch

KEPT = 2
"""Calls before the last whose outputs are looked at again."""


@dataclass(frozen=True)
class Snapshot:
    """Outputs of a call, copied to where no worker can write, by name: bytes."""

    call: Call
    outputs: Mapping[str, torch.Tensor]


class Marks:
    """Bytes of the outputs of a move that are looked at when it is reported done."""

    def __init__(
        self, layout: Layout, slots: Sequence[int], probes: int, generator: torch.Generator
    ) -> None:
        import torch

        parts = [(slot, place) for slot in slots for place in layout.outputs]
        each = max(2, probes // max(1, len(parts)))
        self._parts: list[tuple[int, str, torch.Tensor]] = []
        places = []
        for slot, place in parts:
            device = generator.device
            drawn = torch.randint(place.bytes, (each,), generator=generator, device=device)
            # What is written last is most often the end.
            drawn[-1] = place.bytes - 1
            self._parts.append((slot, place.name, drawn))
            places.append(drawn + (slot * layout.slot_bytes + place.offset))
        self._where = torch.cat(places)

    def look(self, arena: Arena) -> torch.Tensor:
        """What is there now."""
        return arena.bytes[self._where]

    def moved(self, seen: torch.Tensor, snapshots: Sequence[Snapshot]) -> torch.Tensor:
        """Whether something else was there when it was copied: one truth value."""
        import torch

        kept = {snapshot.call.slot: snapshot.outputs for snapshot in snapshots}
        found = [kept[slot][name][where] for slot, name, where in self._parts]
        return (torch.cat(found) != seen).any()


class Checker:
    """Checks the moves of one shape in one round."""

    def __init__(
        self, problem: GradedProblem, oracle: Oracle, shape: Shape, layout: Layout,
        arena: Arena, device: Device,
    ) -> None:  # fmt: skip
        self._problem = problem
        self._oracle = oracle
        self._shape = shape
        self._layout = layout
        self._arena = arena
        self._device = device
        self._before: list[Snapshot] = []
        self.errors: dict[str, list[OutputError]] = {}
        self.right = 0
        """Calls that were right so far."""

    def snapshot(self, calls: Sequence[Call]) -> list[Snapshot]:
        """The outputs of calls, copied."""
        layout, arena = self._layout, self._arena
        found = [
            Snapshot(call, {
                place.name: layout.raw(arena, call.slot, place).clone() for place in layout.outputs
            })
            for call in calls
        ]  # fmt: skip
        self._device.synchronize()
        return found

    def check(
        self,
        snapshots: Sequence[Snapshot],
        marks: Marks,
        seen: torch.Tensor,
        guards: torch.Tensor,
    ) -> None:
        """Failure names the first thing that is not as it has to be.

        The reference is computed here, after the outputs were copied: before, there was none.
        """
        self._look_beside(snapshots, marks, seen, guards)
        for snapshot in snapshots:
            self._compare(snapshot)
            self.right += 1
        self._before = [*self._before, *snapshots][-KEPT:]

    def rehearse(self, calls: Sequence[Call]) -> None:
        """Do what a check does, on the reference itself: calls that follow come at a grade's pace.

        A host that waits longer between calls finds its own caches colder.
        """
        for call in calls:
            reference = self._oracle.reference(call.inputs, self._shape)
            for place in self._layout.outputs:
                right = reference[place.name]
                self._compared(place, right, right, call)

    def _look_beside(
        self,
        snapshots: Sequence[Snapshot],
        marks: Marks,
        seen: torch.Tensor,
        guards: torch.Tensor,
    ) -> None:
        import torch

        findings = [(Outcome.LATE_WRITE, "an output changed after the call was reported done",
                     marks.moved(seen, snapshots))]  # fmt: skip
        for snapshot in snapshots:
            slot = snapshot.call.slot
            beside = (guarded(self._arena, self._layout, slot) != guards).any()
            findings.append((Outcome.OUT_OF_BOUNDS, "bytes beside a tensor were written", beside))
            findings += [
                (Outcome.INPUT_MUTATED, f"the input {name} was changed", changed)
                for name, changed in self._changed_inputs(snapshot.call)
            ]
        taken = {snapshot.call.slot for snapshot in snapshots}
        findings += [
            (Outcome.LATE_WRITE, "an output changed while later calls were made", changed)
            for before in self._before
            if before.call.slot not in taken
            for changed in self._changed_outputs(before)
        ]
        flags = torch.stack([found for _, _, found in findings]).tolist()
        for (outcome, said, _), found in zip(findings, flags, strict=True):
            if found:
                raise Failure(outcome, self._place(said, snapshots[0].call))

    def _changed_inputs(self, call: Call) -> list[tuple[str, torch.Tensor]]:
        states = {place.name for place in self._layout.outputs}
        return [
            (place.name, _differ(
                self._layout.raw(self._arena, call.slot, place), bytes_of(call.inputs[place.name])
            ))
            for place in self._layout.inputs
            if place.name not in states
        ]  # fmt: skip

    def _changed_outputs(self, before: Snapshot) -> list[torch.Tensor]:
        return [
            _differ(self._layout.raw(self._arena, before.call.slot, place),
                    before.outputs[place.name])
            for place in self._layout.outputs
        ]  # fmt: skip

    def _compare(self, snapshot: Snapshot) -> None:
        call = snapshot.call
        reference = self._oracle.reference(call.inputs, self._shape)
        for place in self._layout.outputs:
            got = typed(snapshot.outputs[place.name], place)
            found = self._compared(place, got, reference[place.name], call)
            self.errors.setdefault(place.name, []).append(found.error)
            if found.outcome is not None:
                raise Failure(found.outcome, self._place(found.detail, call))

    def _compared(
        self, place: Place, got: torch.Tensor, wanted: torch.Tensor, call: Call
    ) -> Compared:
        bound = self._problem.problem.tensors[place.name].bound
        assert bound is not None
        pointed = call.inputs.get(bound.indices_into or "")
        return compare(place.name, got, wanted, bound, pointed)

    def _place(self, said: str, call: Call) -> str:
        return (
            f"{said} (shape {self._shape.id}, inputs {call.case}, "
            f"call {self.right + 1}; {self.right} calls before were right)"
        )


def _differ(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Whether bytes differ: one truth value; eight bytes are compared at a time."""
    import torch

    whole = left.numel() // 8 * 8
    differ = (left[whole:] != right[whole:]).any()
    if whole:
        aligned = right[:whole].view(torch.int64)
        differ = differ | (left[:whole].view(torch.int64) != aligned).any()
    return differ
