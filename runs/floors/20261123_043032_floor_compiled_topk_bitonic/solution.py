"""Compiled floor of topk_bitonic, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch


@functools.cache
def _compiled():
    return torch.compile(lambda x, k: x.topk(k, dim=1))


def solve(x, values, indices):
    """torch.compile of the same."""
    found = _compiled()(x, values.shape[1])
    values.copy_(found[0])
    indices.copy_(found[1])
