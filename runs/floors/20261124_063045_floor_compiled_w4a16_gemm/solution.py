"""Compiled floor of w4a16_gemm, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch
import torch._dynamo

# Code for each shape. Else the second one gets code for any size: on an H200 times hung on which
# shape came first then, by up to 11 times, and torch 2.11 computed one problem wrongly.
torch._dynamo.config.automatic_dynamic_shapes = False


GROUP = 128


def _weights(packed, scales, zeros):
    rows, columns = packed.shape
    fours = torch.stack([packed & 15, packed >> 4], dim=1).view(-1, GROUP, columns)
    exact = (fours.to(torch.bfloat16) - zeros[:, None]) * scales[:, None]
    return exact.view(2 * rows, columns)


@functools.cache
def _compiled():
    return torch.compile(lambda x, *quantised: x @ _weights(*quantised))


def solve(x, packed, scales, zeros, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, packed, scales, zeros))
