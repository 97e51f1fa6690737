"""Handing inputs to a worker at the last moment, and keeping what they have to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.devices import Arena, Device
from bench.grading.layout import GUARD, Layout

if TYPE_CHECKING:
    import torch

CANARIES = 256
"""One line in so many is wrong until the go."""

_WRONG = 0xA5

LARGE = 0x78
"""A byte of which the seven after it are large numbers, or none, too, whatever they are read as."""


@dataclass(frozen=True)
class Call:
    """A call as the grader knows it: where it lies, and what its inputs are."""

    slot: int
    case: str
    inputs: Mapping[str, torch.Tensor]
    """As they were drawn; nobody but the grader can write to them."""


@dataclass(frozen=True)
class _Canary:
    """Lines of an input that are still wrong."""

    lines: torch.Tensor
    where: torch.Tensor
    right: torch.Tensor


class Disclosure:
    """What lies in the arena for the calls of one move."""

    def __init__(
        self, arena: Arena, layout: Layout, device: Device, generator: torch.Generator
    ) -> None:
        self._arena = arena
        self._layout = layout
        self._device = device
        self._generator = generator
        self._canaries: list[_Canary] = []
        # Whoever reads beyond a tensor finds numbers that are far too large, in every format.
        self.guard = LARGE + self._number(8) + 128 * self._number(2)

    def write(self, calls: Sequence[Call]) -> None:
        """Put inputs into the arena, with some lines wrong; poison outputs and guards.

        Returns when nothing of it is in a cache of the device any more.
        """
        layout, arena = self._layout, self._arena
        poison = 1 + self._number(255)
        for call in calls:
            for place in layout.places:
                layout.guard(arena, call.slot, place).fill_(self.guard)
            for place in layout.outputs:
                layout.raw(arena, call.slot, place).fill_(poison)
            for place in layout.inputs:
                raw = layout.raw(arena, call.slot, place)
                raw.copy_(bytes_of(call.inputs[place.name]))
                self._spoil(raw)
        self._device.flush()
        self._device.synchronize()

    def reveal(self) -> None:
        """Set right what is wrong; the go has to follow at once."""
        for canary in self._canaries:
            canary.lines[canary.where] = canary.right
        self._canaries = []
        self._device.synchronize()

    def _spoil(self, raw: torch.Tensor) -> None:
        import torch

        width = min(self._device.line_bytes, raw.numel())
        if not width:
            return
        count = raw.numel() // width
        lines = raw[: count * width].view(count, width)
        where, elsewhere = torch.randint(
            count, (2, max(1, count // CANARIES)), generator=self._generator, device=raw.device
        )
        right, other = lines[where].clone(), lines[elsewhere]
        # What comes from another place looks like any other line, and cannot be undone.
        same = (other == right).all(dim=1, keepdim=True)
        lines[where] = torch.where(same, right ^ _WRONG, other)
        self._canaries.append(_Canary(lines, where, right))

    def _number(self, most: int) -> int:
        import torch

        drawn = torch.randint(most, (1,), generator=self._generator, device=self._generator.device)
        return int(drawn.item())


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, in order."""
    import torch

    return tensor.contiguous().view(-1).view(torch.uint8)


def guarded(arena: Arena, layout: Layout, slot: int) -> torch.Tensor:
    """The guards of a slot, (tensors, bytes)."""
    import torch

    found = [layout.guard(arena, slot, place) for place in layout.places]
    return torch.stack(found).view(-1, GUARD)
