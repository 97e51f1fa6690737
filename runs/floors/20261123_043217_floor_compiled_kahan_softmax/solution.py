"""Compiled floor of kahan_softmax, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch


@functools.cache
def _compiled():
    return torch.compile(lambda x: torch.softmax(x.double(), dim=1).float())


def solve(x, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x))
