"""Softmax of long rows: sums of blocks, then the quotients."""

import torch
import triton
import triton.language as tl

BLOCK = 8192


@triton.jit
def parts(x, part, N, BLOCK: tl.constexpr):
    block, blocks, row = tl.program_id(0), tl.num_programs(0), tl.program_id(1).to(tl.int64)
    columns = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=-float("inf"))
    top = tl.max(values, axis=0)
    total = tl.sum(tl.exp(values - top), axis=0)
    tl.store(part + (row * blocks + block) * 2, top)
    tl.store(part + (row * blocks + block) * 2 + 1, total)


@triton.jit
def finish(x, part, y, N, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    block, blocks, row = tl.program_id(0), tl.num_programs(0), tl.program_id(1).to(tl.int64)
    index = tl.arange(0, PARTS)
    tops = tl.load(part + (row * blocks + index) * 2, mask=index < blocks, other=-float("inf"))
    totals = tl.load(part + (row * blocks + index) * 2 + 1, mask=index < blocks, other=0.0)
    top = tl.max(tops, axis=0)
    total = tl.sum(totals * tl.exp(tops - top), axis=0)
    columns = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y + row * N + columns, tl.exp(values - top) / total, mask=columns < N)


def solve(x, y):
    rows, length = x.shape
    blocks = triton.cdiv(length, BLOCK)
    part = torch.empty(rows, blocks, 2, dtype=torch.float32, device=x.device)
    parts[(blocks, rows)](x, part, length, BLOCK=BLOCK, num_warps=8)
    finish[(blocks, rows)](x, part, y, length, BLOCK=BLOCK, PARTS=triton.next_power_of_2(blocks), num_warps=8)
