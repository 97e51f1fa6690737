"""Compiled floor of mrope, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch
import torch._dynamo

# Code for each shape. Else the second one gets code for any size: on an H200 times hung on which
# shape came first then, by up to 11 times, and torch 2.11 computed one problem wrongly.
torch._dynamo.config.automatic_dynamic_shapes = False


def _axes(width):
    return [0] * (width // 8) + [1] * (3 * width // 16) + [2] * (3 * width // 16)


def _plain(q, k, positions, cos, sin):
    half = q.shape[3] // 2
    frequency = torch.arange(half, device=q.device)
    position = positions[_axes(2 * half)].permute(1, 2, 0)
    cosine = cos[position, frequency].float()[:, :, None]
    sine = sin[position, frequency].float()[:, :, None]

    def rotated(x):
        first, second = x.float().chunk(2, dim=3)
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        return torch.cat(turned, dim=3).transpose(1, 2)

    return rotated(q), rotated(k)


def eager(q, k, positions, cos, sin, q_out, k_out):
    """The tables gathered, then products and sums in fp32."""
    turned_q, turned_k = _plain(q, k, positions, cos, sin)
    q_out.copy_(turned_q)
    k_out.copy_(turned_k)


@functools.cache
def _compiled():
    return torch.compile(eager)


def solve(q, k, positions, cos, sin, q_out, k_out):
    """torch.compile of the same."""
    _compiled()(q, k, positions, cos, sin, q_out, k_out)
