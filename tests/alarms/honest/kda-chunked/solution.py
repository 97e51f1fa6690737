"""Chunked gated delta rule.  One program a head and batch walks the chunks; the inner system of 64 rows is solved by
forward substitution on rows that stay in registers.  Cumulative decays are taken relative to the chunk's start."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _chunk(q_ptr, k_ptr, v_ptr, g_ptr, b_ptr, o_ptr, T, H: tl.constexpr, D: tl.constexpr, BV: tl.constexpr, C: tl.constexpr):
    cols = tl.program_id(0) * BV + tl.arange(0, BV)
    bh = tl.program_id(1)
    batch, head = bh // H, bh % H
    base = (batch.to(tl.int64) * T * H + head) * D
    dims = tl.arange(0, D)
    rows = tl.arange(0, C)
    state = tl.zeros((D, BV), tl.float32)
    for start in range(0, T, C):
        at = base + (start + rows)[:, None] * H * D
        inside = (start + rows)[:, None] < T
        q = tl.load(q_ptr + at + dims[None, :], mask=inside, other=0.0).to(tl.float32)
        k = tl.load(k_ptr + at + dims[None, :], mask=inside, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + at + cols[None, :], mask=inside, other=0.0).to(tl.float32)
        g = tl.cumsum(tl.load(g_ptr + at + dims[None, :], mask=inside, other=0.0).to(tl.float32), 0)
        beta = tl.load(b_ptr + (batch * T + start + rows) * H + head, mask=start + rows < T, other=0.0)
        kd = k * tl.exp(g)
        ki = k * tl.exp(-g)
        a = tl.dot(kd, tl.trans(ki), input_precision="ieee")
        a = tl.where(rows[:, None] > rows[None, :], a * beta[:, None], 0.0)
        u = beta[:, None] * (v - tl.dot(kd, state, input_precision="ieee"))
        for i in range(1, C):
            row = tl.sum(tl.where(rows[:, None] == i, a, 0.0), 0)
            fix = tl.sum(row[:, None] * u, 0)
            u = tl.where(rows[:, None] == i, u - fix[None, :], u)
        qd = q * tl.exp(g)
        inner = tl.dot(qd, tl.trans(ki), input_precision="ieee")
        inner = tl.where(rows[:, None] >= rows[None, :], inner, 0.0)
        o = tl.dot(qd, state, input_precision="ieee") + tl.dot(inner, u, input_precision="ieee")
        tl.store(o_ptr + at + cols[None, :], o.to(tl.bfloat16), mask=inside)
        last = tl.sum(tl.where(rows[:, None] == C - 1, g, 0.0), 0)
        state = state * tl.exp(last)[:, None] + tl.dot(tl.trans(ki * tl.exp(last)[None, :]), u, input_precision="ieee")


class Model(nn.Module):
    def forward(self, q, k, v, g, beta):
        B, T, H, D = q.shape
        o = torch.empty_like(v)
        grid = (triton.cdiv(D, 32), B * H)
        _chunk[grid](*(t.contiguous() for t in (q, k, v, g, beta)), o, T, H=H, D=D, BV=32, C=64, num_warps=8)
        return o
