"""Eager floor of w4a16_gemm, taken from its baselines.

The reference as it stands, in eager PyTorch.
"""

from __future__ import annotations

import torch


GROUP = 128


def _weights(packed, scales, zeros):
    rows, columns = packed.shape
    fours = torch.stack([packed & 15, packed >> 4], dim=1).view(-1, GROUP, columns)
    exact = (fours.to(torch.bfloat16) - zeros[:, None]) * scales[:, None]
    return exact.view(2 * rows, columns)


def solve(x, packed, scales, zeros, y):
    """Weights dequantised to bf16, then torch.mm."""
    torch.mm(x, _weights(packed, scales, zeros), out=y)
