"""Softmax of long rows, each read once.

The blocks of a row keep their values in registers, tell the others their largest value and their
sum, and wait until all of the row have. Blocks start in the order of their numbers, and those of
a row (128 at most) fit on the GPU at once; so whoever waits does so for a block that runs.
"""

import torch
import triton
import triton.language as tl

BLOCK = 8192


@triton.jit
def softmax(x, y, part, ready, N, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    block, blocks, row = tl.program_id(0), tl.num_programs(0), tl.program_id(1).to(tl.int64)
    columns = block * BLOCK + tl.arange(0, BLOCK)
    inside = columns < N
    values = tl.load(x + row * N + columns, mask=inside, other=-float("inf"))
    top = tl.max(values, axis=0)
    terms = tl.exp(values - top)
    total = tl.sum(terms.to(tl.float64), axis=0)
    tl.store(part + (row * blocks + block) * 2, top.to(tl.float64))
    tl.store(part + (row * blocks + block) * 2 + 1, total)
    tl.atomic_add(ready + row, 1, sem="release")
    while tl.atomic_add(ready + row, 0, sem="acquire") < blocks:
        pass
    index = tl.arange(0, PARTS)
    at = part + (row * blocks + index) * 2
    tops = tl.load(at, mask=index < blocks, other=-float("inf"), cache_modifier=".cg")
    totals = tl.load(at + 1, mask=index < blocks, other=0.0, cache_modifier=".cg")
    highest = tl.max(tops, axis=0)
    whole = tl.sum(totals * tl.exp((tops - highest).to(tl.float32)), axis=0)
    share = tl.exp((top - highest).to(tl.float32)) / whole
    tl.store(y + row * N + columns, terms * share.to(tl.float32), mask=inside)


def solve(x, y):
    rows, length = x.shape
    blocks = triton.cdiv(length, BLOCK)
    part = torch.empty(rows, blocks, 2, dtype=torch.float64, device=x.device)
    ready = torch.zeros(rows, dtype=torch.int32, device=x.device)
    softmax[(blocks, rows)](
        x, y, part, ready, length, BLOCK=BLOCK, PARTS=triton.next_power_of_2(blocks), num_warps=8
    )
