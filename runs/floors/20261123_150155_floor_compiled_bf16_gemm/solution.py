"""Compiled floor of bf16_gemm, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch


@functools.cache
def _compiled():
    return torch.compile(lambda x, w: x @ w.T)


def solve(x, w, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, w))
