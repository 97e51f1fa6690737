"""Compiled floor of vector_add, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch


@functools.cache
def _compiled():
    return torch.compile(lambda x, y, z: z.copy_(x + y))


def solve(x, y, z):
    """torch.compile of the same."""
    _compiled()(x, y, z)
