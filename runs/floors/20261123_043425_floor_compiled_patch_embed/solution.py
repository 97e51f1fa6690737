"""Compiled floor of patch_embed, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch


@functools.cache
def _compiled():
    return torch.compile(
        lambda x, weight: torch.nn.functional.conv3d(x, weight, stride=weight.shape[2:])
    )


def solve(x, weight, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, weight))
