"""Numbers rounded to the next lower format, as well as such a format can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbsite.model.problem import Dtype

if TYPE_CHECKING:
    import torch

BLOCK = 32
"""Numbers that share a scale where a format is too narrow for one a row."""

FP4_EDGES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
FP4_LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)

NAMES = {
    Dtype.FP64: "fp32", Dtype.FP32: "tf32", Dtype.FP16: "fp8", Dtype.BF16: "fp8",
    Dtype.FP8_E4M3: "fp4", Dtype.FP8_E5M2: "fp4",
}  # fmt: skip
"""The next lower format of each."""


def lowered(tensor: torch.Tensor, dtype: Dtype) -> torch.Tensor:
    """The numbers in the next lower format, back in their own; as they are if there is none."""
    import torch

    if not tensor.dim():
        return lowered(tensor.reshape(1), dtype).reshape(())
    match NAMES.get(dtype):
        case "fp32":
            return tensor.float().double()
        case "tf32":
            return _tf32(tensor)
        case "fp8":
            return _scaled(tensor.float(), 448.0, _fp8).to(tensor.dtype)
        case "fp4":
            return _in_blocks(tensor.to(torch.float32)).to(tensor.dtype)
        case _:
            return tensor


def _tf32(tensor: torch.Tensor) -> torch.Tensor:
    """Rounded to ten bits of mantissa."""
    import torch

    bits = tensor.contiguous().view(torch.int32)
    rounded = (bits + 0x1000) & ~0x1FFF
    return torch.where(tensor.isfinite(), rounded.view(torch.float32), tensor)


def _scaled(values: torch.Tensor, largest: float, rounded: object) -> torch.Tensor:
    """Rounded after the largest of each row was scaled to what the format holds."""
    assert callable(rounded)
    rows = values.reshape(-1, values.shape[-1])
    scale = rows.abs().amax(1, keepdim=True).clamp(min=1e-30) / largest
    made: torch.Tensor = (rounded(rows / scale) * scale).reshape(values.shape)
    return made


def _fp8(values: torch.Tensor) -> torch.Tensor:
    import torch

    return values.to(torch.float8_e4m3fn).float()


def _fp4(values: torch.Tensor) -> torch.Tensor:
    import torch

    levels = torch.tensor(FP4_LEVELS, device=values.device)
    edges = torch.tensor(FP4_EDGES, device=values.device)
    return levels[torch.bucketize(values.abs(), edges)] * values.sign()


def _in_blocks(values: torch.Tensor) -> torch.Tensor:
    """Rounded to fp4 with a scale for each block of a row."""
    import torch

    width = values.shape[-1]
    padded = torch.nn.functional.pad(values, (0, -width % BLOCK))
    blocks = padded.reshape(-1, BLOCK)
    return _scaled(blocks, FP4_LEVELS[-1], _fp4).reshape(padded.shape)[..., :width]
