"""Eager floor of topk_bitonic, taken from its baselines.

The reference as it stands, in eager PyTorch.
"""

from __future__ import annotations




def solve(x, values, indices):
    """torch.topk, then copies."""
    found = x.topk(values.shape[1], dim=1)
    values.copy_(found.values)
    indices.copy_(found.indices)
