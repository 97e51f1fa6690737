"""Library floor of w4a16_gemm, taken from its baselines.

The best-known library kernel. our own Triton kernel, which unpacks in registers: the 4-bit products
that torch brings along take other layouts of the weights. On a CPU the same as eager
"""

from __future__ import annotations

import functools
import torch


GROUP = 128


def _weights(packed, scales, zeros):
    rows, columns = packed.shape
    fours = torch.stack([packed & 15, packed >> 4], dim=1).view(-1, GROUP, columns)
    exact = (fours.to(torch.bfloat16) - zeros[:, None]) * scales[:, None]
    return exact.view(2 * rows, columns)


def eager(x, packed, scales, zeros, y):
    """Weights dequantised to bf16, then torch.mm."""
    torch.mm(x, _weights(packed, scales, zeros), out=y)


@functools.cache
def _kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def product(
        x, packed, scales, zeros, y, M, N, K,
        SIXTEEN: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        inside = columns < N
        rows = tl.arange(0, SIXTEEN)
        total = tl.zeros((SIXTEEN, COLUMNS), dtype=tl.float32)
        for start in range(0, K // 2, ROWS // 2):
            pairs = start + tl.arange(0, ROWS // 2)
            at = pairs[:, None].to(tl.int64) * N + columns[None, :]
            both = tl.load(packed + at, mask=inside[None, :], other=0)
            group = start * 2 // 128
            scale = tl.load(scales + group * N + columns, mask=inside, other=0.0)
            zero = tl.load(zeros + group * N + columns, mask=inside, other=0.0)
            low = ((both & 15).to(tl.bfloat16) - zero[None, :]) * scale[None, :]
            high = ((both >> 4).to(tl.bfloat16) - zero[None, :]) * scale[None, :]
            left = x + rows[:, None] * K + 2 * pairs[None, :]
            even = tl.load(left, mask=rows[:, None] < M, other=0.0)
            odd = tl.load(left + 1, mask=rows[:, None] < M, other=0.0)
            total = tl.dot(even, low, total)
            total = tl.dot(odd, high, total)
        at = y + rows[:, None] * N + columns[None, :]
        tl.store(at, total.to(tl.bfloat16), mask=(rows[:, None] < M) & inside[None, :])

    return product


def solve(x, packed, scales, zeros, y):
    """One kernel that unpacks and multiplies."""
    if not x.is_cuda:
        return eager(x, packed, scales, zeros, y)
    (rows, depth), columns = x.shape, y.shape[1]

    _kernel()[(-(-columns // 128),)](
        x, packed, scales, zeros, y, rows, columns, depth,
        SIXTEEN=16, COLUMNS=128, ROWS=64, num_warps=4, num_stages=5,
    )  # fmt: skip
