"""Handing inputs to a worker at the last moment, and keeping what they have to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.devices import Arena, Device
from bench.grading.layout import Layout

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


class Disclosure:
    """What lies in the arena for the calls of one move."""

    def __init__(
        self, arena: Arena, layout: Layout, device: Device, generator: torch.Generator
    ) -> None:
        import torch

        self._arena = arena
        self._layout = layout
        self._device = device
        self._generator = generator
        self._lines = _lines_of(arena.bytes, device.line_bytes)
        self._wrong: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Which lines of the arena are wrong, and what belongs there."""
        self._short: list[tuple[torch.Tensor, torch.Tensor]] = []
        """The same of tensors that are shorter than a line."""
        self._guards = [
            byte.repeat(end - start)
            for byte, (start, end) in zip(self._draw_guards(), layout.gaps, strict=True)
        ]
        self.guards = torch.cat(self._guards)
        """What has to lie around the tensors of a slot: of each gap one byte again and again."""

    def write(self, calls: Sequence[Call]) -> None:
        """Put inputs into the arena, with some lines wrong; poison outputs and guards.

        Returns when nothing of it is in a cache of the device any more.
        """
        layout, arena = self._layout, self._arena
        poison = 1 + self._number(255)
        for call in calls:
            for there, guard in zip(layout.guards(arena, call.slot), self._guards, strict=True):
                there.copy_(guard)
            for place in layout.outputs:
                layout.raw(arena, call.slot, place).fill_(poison)
            for place in layout.inputs:
                raw = layout.raw(arena, call.slot, place)
                raw.copy_(bytes_of(call.inputs[place.name]))
                self._spoil(raw, call.slot * layout.slot_bytes + place.offset)
        self._wrong = [_together(self._wrong)] if self._wrong else []
        self._device.flush()
        self._device.synchronize()

    def reveal(self) -> None:
        """Set right what is wrong, in all slots at once; the go has to follow at once."""
        for where, right in self._wrong:
            self._lines[where] = right
        for raw, right in self._short:
            raw.copy_(right)
        self._wrong, self._short = [], []
        self._device.synchronize()

    def _spoil(self, raw: torch.Tensor, start: int) -> None:
        """Make some lines wrong of a tensor that begins at a byte of the arena."""
        import torch

        width = self._device.line_bytes
        count = raw.numel() // width
        if not count:
            self._short.append((raw, raw.clone()))
            raw ^= _WRONG
            return
        first = start // width
        lines = self._lines[first : first + count]
        where, elsewhere = torch.randint(
            count, (2, max(1, count // CANARIES)), generator=self._generator, device=raw.device
        )
        right, other = lines[where].clone(), lines[elsewhere]
        # What comes from another place looks like any other line, and cannot be undone.
        same = (other == right).all(dim=1, keepdim=True)
        lines[where] = torch.where(same, right ^ _WRONG, other)
        self._wrong.append((where + first, right))

    def _draw_guards(self) -> torch.Tensor:
        """Whoever reads beside a tensor finds numbers that are far too large, in every format.

        Each gap has others: who copies too much, or adds to what is no number, is seen as well.
        """
        import torch

        device = self._generator.device
        large = torch.arange(8, dtype=torch.uint8, device=device) + LARGE
        either = torch.cat([large, large + 128])
        drawn = torch.randperm(len(either), generator=self._generator, device=device)
        count = len(self._layout.gaps)
        return either[drawn].repeat(-(-count // len(either)))[:count].view(-1, 1)

    def _number(self, most: int) -> int:
        import torch

        drawn = torch.randint(most, (1,), generator=self._generator, device=self._generator.device)
        return int(drawn.item())


def _lines_of(arena: torch.Tensor, width: int) -> torch.Tensor:
    """The lines of an arena, (lines, words): eight bytes are moved at a time."""
    import torch

    count = arena.numel() // width
    return arena[: count * width].view(torch.int64).view(count, -1)


def _together(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same lines as one list: to set them right then takes no longer for a batch."""
    import torch

    where, right = zip(*parts, strict=True)
    return torch.cat(where), torch.cat(right)


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, in order: formats of eight bits cannot be compared otherwise."""
    import torch

    return tensor.contiguous().view(-1).view(torch.uint8)


def guarded(arena: Arena, layout: Layout, slot: int) -> torch.Tensor:
    """What lies around the tensors of a slot."""
    import torch

    return torch.cat(layout.guards(arena, slot))
