"""Library floor of kahan_softmax, taken from its baselines.

The best-known library kernel. our own Triton kernels with sums in fp64: torch.softmax sums in plain
fp32, which loses too much in the buried rows. On a CPU torch.softmax in fp64
"""

from __future__ import annotations

import functools
import torch


def eager(x, y):
    """Softmax in fp64, rounded."""
    y.copy_(torch.softmax(x.double(), dim=1))


@functools.cache
def _kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def parts(x, part, N, BLOCK: tl.constexpr):
        row = tl.program_id(1).to(tl.int64)
        block = tl.program_id(0)
        columns = block * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=-float("inf"))
        top = tl.max(values, axis=0)
        total = tl.sum(tl.exp(values - top).to(tl.float64), axis=0)
        at = part + (row * tl.num_programs(0) + block) * 2
        tl.store(at, top.to(tl.float64))
        tl.store(at + 1, total)

    @triton.jit
    def finish(x, part, y, N, BLOCK: tl.constexpr, PARTS: tl.constexpr):
        row = tl.program_id(1).to(tl.int64)
        blocks = tl.num_programs(0)
        index = tl.arange(0, PARTS)
        at = part + (row * blocks + index) * 2
        tops = tl.load(at, mask=index < blocks, other=-float("inf")).to(tl.float32)
        top = tl.max(tops, axis=0)
        totals = tl.load(at + 1, mask=index < blocks, other=0.0)
        total = tl.sum(totals * tl.exp(tops - top), axis=0).to(tl.float32)
        columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y + row * N + columns, tl.exp(values - top) / total, mask=columns < N)

    return parts, finish


def solve(x, y):
    """Two kernels: sums of blocks, then the quotients."""
    if not x.is_cuda:
        return eager(x, y)
    parts, finish = _kernels()
    rows, length = x.shape
    block = 8192
    blocks = -(-length // block)
    part = torch.empty(rows, blocks, 2, dtype=torch.float64, device=x.device)
    parts[(blocks, rows)](x, part, length, BLOCK=block, num_warps=8)
    count = 1 << (blocks - 1).bit_length()
    finish[(blocks, rows)](x, part, y, length, BLOCK=block, PARTS=count, num_warps=8)
