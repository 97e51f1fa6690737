"""Where the tensors of a call lie in the arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from bench.problems import TORCH, GradedProblem, Shape
from kbsite.model.problem import Role

if TYPE_CHECKING:
    import torch

    from bench.devices import Arena, Device

ALIGNMENT = 512
GUARD = 512
"""Bytes before and behind each tensor that nobody may write to, at least."""

FEWEST_SLOTS = 3
"""So that the outputs of the two calls before are still there."""


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor within a slot."""

    name: str
    role: Role
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int


@dataclass(frozen=True)
class Layout:
    """The tensors of a slot with guards around them, and the slots of an arena."""

    places: tuple[Place, ...]
    slot_bytes: int
    slots: int

    @property
    def told(self) -> Mapping[str, Any]:
        """What a worker has to know; JSON."""
        return {
            "slots": [slot * self.slot_bytes for slot in range(self.slots)],
            "tensors": [
                {"dtype": one.dtype, "shape": one.shape, "offset": one.offset, "bytes": one.bytes}
                for one in self.places
            ],
        }

    @cached_property
    def inputs(self) -> tuple[Place, ...]:
        """What is written before a call."""
        return tuple(one for one in self.places if one.role is not Role.OUT)

    @cached_property
    def outputs(self) -> tuple[Place, ...]:
        """What is checked after it."""
        return tuple(one for one in self.places if one.role is not Role.IN)

    def raw(self, arena: Arena, slot: int, place: Place) -> torch.Tensor:
        """The bytes of a tensor in a slot."""
        start = slot * self.slot_bytes + place.offset
        return arena.bytes[start : start + place.bytes]

    def tensor(self, arena: Arena, slot: int, place: Place) -> torch.Tensor:
        """The tensor itself."""
        return typed(self.raw(arena, slot, place), place)

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Where in a slot no tensor lies: before the first, and from each to the next."""
        starts = [0, *(one.offset + one.bytes for one in self.places)]
        ends = [*(one.offset for one in self.places), self.slot_bytes]
        return tuple(zip(starts, ends, strict=True))

    def guards(self, arena: Arena, slot: int) -> list[torch.Tensor]:
        """The bytes of a slot that nobody may write to, gap by gap."""
        base = slot * self.slot_bytes
        return [arena.bytes[base + start : base + end] for start, end in self.gaps]

    def guard(self, arena: Arena, slot: int, place: Place) -> torch.Tensor:
        """Those of them behind a tensor."""
        return self.guards(arena, slot)[1 + self.places.index(place)]


def typed(raw: torch.Tensor, place: Place) -> torch.Tensor:
    """Bytes as the tensor that they are."""
    import torch

    tensor: torch.Tensor = raw.view(getattr(torch, place.dtype)).view(place.shape)
    return tensor


def layout(problem: GradedProblem, shape: Shape, device: Device) -> Layout:
    """The layout of a shape.

    It has as many slots as the device's arena holds, 3 at least, and as it has calls in a batch.
    """
    places: list[Place] = []
    end = GUARD
    for name, tensor in problem.problem.tensors.items():
        sizes = problem.sizes(name, shape)
        size = prod(sizes) * tensor.dtype.bytes
        places.append(Place(name, tensor.role, TORCH[tensor.dtype], sizes, end, size))
        end = -(-(end + size + GUARD) // ALIGNMENT) * ALIGNMENT
    slots = max(FEWEST_SLOTS, min(device.most_slots, device.arena_bytes // end))
    return Layout(tuple(places), end, slots)
