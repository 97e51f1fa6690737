"""Library floor of topk_bitonic, taken from its baselines.

The best-known library kernel. torch.topk: torch's own radix selection, then a sort of what it found
"""

from __future__ import annotations

import torch


def solve(x, values, indices):
    """torch.topk into the outputs."""
    torch.topk(x, values.shape[1], dim=1, out=(values, indices))
