"""Eager floor of patch_embed, taken from its baselines.

The reference as it stands, in eager PyTorch.
"""

from __future__ import annotations

import torch


def solve(x, weight, y):
    """torch.conv3d."""
    y.copy_(torch.nn.functional.conv3d(x, weight, stride=weight.shape[2:]))
