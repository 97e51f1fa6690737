"""Library floor of mrope, taken from its baselines.

The best-known library kernel. our own Triton kernel, a few tokens and heads at a time: torch has no
rotary embedding. On a CPU the same as eager
"""

from __future__ import annotations

import functools
import torch


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
def _kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def both(
        q, k, positions, cos, sin, q_out, k_out, B, T, H, J,
        HALF: tl.constexpr, TOKENS: tl.constexpr, HEADS: tl.constexpr,
    ):  # fmt: skip
        group = tl.program_id(0)
        tokens = tl.program_id(1) * TOKENS + tl.arange(0, TOKENS)
        batch = tl.program_id(2)
        width = tl.arange(0, HALF)
        axis = (width >= HALF // 4).to(tl.int32) + (width >= HALF // 4 + 3 * HALF // 8).to(tl.int32)
        known = (tokens < T)[:, None]
        place = positions + (axis[None, :] * B + batch) * T + tokens[:, None]
        entry = tl.load(place, mask=known, other=0) * HALF + width[None, :]
        cosine = tl.load(cos + entry, mask=known, other=0.0).to(tl.float32)[:, None, :]
        sine = tl.load(sin + entry, mask=known, other=0.0).to(tl.float32)[:, None, :]
        source, target, count, first = q, q_out, H, group * HEADS
        if first >= H:
            # Groups behind those of the queries are the keys'.
            source, target, count, first = k, k_out, J, (group - (H + HEADS - 1) // HEADS) * HEADS
        heads = first + tl.arange(0, HEADS)
        inside = ((tokens < T)[:, None] & (heads < count)[None, :])[:, :, None]
        line = ((batch * T + tokens)[:, None].to(tl.int64) * count + heads[None, :]) * (2 * HALF)
        at = source + line[:, :, None] + width[None, None, :]
        left = tl.load(at, mask=inside, other=0.0).to(tl.float32)
        right = tl.load(at + HALF, mask=inside, other=0.0).to(tl.float32)
        line = ((batch * count + heads)[None, :].to(tl.int64) * T + tokens[:, None]) * (2 * HALF)
        at = target + line[:, :, None] + width[None, None, :]
        tl.store(at, (left * cosine - right * sine).to(tl.bfloat16), mask=inside)
        tl.store(at + HALF, (right * cosine + left * sine).to(tl.bfloat16), mask=inside)

    return both


def solve(q, k, positions, cos, sin, q_out, k_out):
    """One kernel for both."""
    if not q.is_cuda:
        return eager(q, k, positions, cos, sin, q_out, k_out)
    sequences, length, heads, width = q.shape
    tokens, each = 16, 2
    groups = -(-heads // each) - (-k.shape[2] // each)
    _kernel()[(groups, -(-length // tokens), sequences)](
        q, k, positions, cos, sin, q_out, k_out, sequences, length, heads, k.shape[2],
        HALF=width // 2, TOKENS=tokens, HEADS=each, num_warps=4 if width > 64 else 1,
    )  # fmt: skip
