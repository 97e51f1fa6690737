"""Library floor of kda_chunk, taken from its baselines.

The best-known library kernel. our own Triton kernel, which goes through each head's tokens by 16
with the state in registers: torch has no linear attention. On a CPU the same as eager
"""

from __future__ import annotations

import functools
import torch


CHUNK = 16
"""Tokens of a chunk: few enough that fp32 holds what decays by exp(-5) at each of them."""


def _chunks(x):
    """(B, T, H, n) as (B * H, T / CHUNK, CHUNK, n), in fp32."""
    sequences, tokens, heads = x.shape[:3]
    cut = x.view(sequences, tokens // CHUNK, CHUNK, heads, -1).permute(0, 3, 1, 2, 4)
    return cut.float().reshape(sequences * heads, tokens // CHUNK, CHUNK, -1)


def _within(q, k, v, g, beta):
    """What can be computed of each chunk alone."""
    width = k.shape[3]
    q, k, v, g, beta = (_chunks(x) for x in (q, k, v, g, beta))
    decay = g.cumsum(2)
    last = decay[:, :, -1:]
    seen, sent = decay.exp(), k * (-decay).exp()
    asked, known = q * seen * width**-0.5, k * seen
    within = (asked @ sent.mT).tril()
    overlap = (known @ sent.mT).tril(-1) * beta
    one = torch.eye(CHUNK, device=q.device)
    right = torch.cat([v, known], dim=3) * beta
    solved = torch.linalg.solve_triangular(one + overlap, right, upper=False, unitriangular=True)
    new, old = solved.split([v.shape[3], width], dim=3)
    return new, old, asked, within, last.exp().mT, (k * (last - decay).exp()).mT


def _across(new, old, asked, within, kept, written, o):
    """The state handed from chunk to chunk."""
    both = torch.cat([old, asked], dim=2)
    state = torch.zeros_like(written[:, 0] @ new[:, 0])
    read = both.new_empty(*both.shape[:3], new.shape[3])
    for chunk in range(both.shape[1]):
        torch.bmm(both[:, chunk], state, out=read[:, chunk])
        change = new[:, chunk] - read[:, chunk, :CHUNK]
        state = torch.baddbmm(state * kept[:, chunk], written[:, chunk], change)
    change = new - read[:, :, :CHUNK]
    found = read[:, :, CHUNK:] + within @ change
    sequences, tokens, heads, width = o.shape
    o.copy_(found.view(sequences, heads, tokens, width).transpose(1, 2))


def eager(q, k, v, g, beta, o):
    """In chunks, in fp32."""
    _across(*_within(q, k, v, g, beta), o)


@functools.cache
def _kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def scan(
        q, k, v, g, beta, o, T, H, scale,
        K: tl.constexpr, V: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(1) % H
        sequence = tl.program_id(1) // H
        row = tl.arange(0, CHUNK)
        channel = tl.arange(0, K)
        column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
        below = row[:, None] > row[None, :]
        state = tl.zeros((K, WIDTH), dtype=tl.float32)
        for start in range(0, T, CHUNK):
            token = ((sequence * T + start + row) * H + head).to(tl.int64)
            at = token[:, None] * K + channel[None, :]
            keys = tl.load(k + at).to(tl.float32)
            queries = tl.load(q + at).to(tl.float32)
            decay = tl.cumsum(tl.load(g + at), axis=0)
            last = tl.sum(tl.where(row[:, None] == CHUNK - 1, decay, 0.0), axis=0)
            strength = tl.load(beta + token).to(tl.float32)
            values = tl.load(v + token[:, None] * V + column[None, :]).to(tl.float32)
            seen = tl.exp(decay)
            known = (keys * seen).to(tl.bfloat16)
            asked = (queries * seen * scale).to(tl.bfloat16)
            sent = tl.trans((keys * tl.exp(-decay)).to(tl.bfloat16))
            overlap = tl.where(below, tl.dot(known, sent) * strength[:, None], 0.0)
            # (1 + overlap)^-1, as overlap^16 is 0.
            power = -overlap
            inverse = tl.where(row[:, None] == row[None, :], 1.0, 0.0) + power
            for _ in tl.static_range(3):
                power = tl.dot(power, power, input_precision="ieee")
                inverse += tl.dot(inverse, power, input_precision="ieee")
            held = state.to(tl.bfloat16)
            missing = (values - tl.dot(known, held)) * strength[:, None]
            change = tl.dot(inverse, missing, input_precision="ieee").to(tl.bfloat16)
            within = tl.dot(asked, sent)
            within = tl.where(row[:, None] >= row[None, :], within, 0.0).to(tl.bfloat16)
            found = tl.dot(asked, held) + tl.dot(within, change)
            tl.store(o + token[:, None] * V + column[None, :], found.to(tl.bfloat16))
            written = tl.trans((keys * tl.exp(last[None, :] - decay)).to(tl.bfloat16))
            state = state * tl.exp(last)[:, None] + tl.dot(written, change)

    return scan


def solve(q, k, v, g, beta, o):
    """One kernel; each block has a head and half or all of its values' columns."""
    if not q.is_cuda:
        return eager(q, k, v, g, beta, o)
    sequences, tokens, heads, width = q.shape
    columns = 64 if sequences * heads < 256 else v.shape[3]
    _kernel()[(v.shape[3] // columns, sequences * heads)](
        q, k, v, g, beta, o, tokens, heads, width**-0.5,
        K=width, V=v.shape[3], WIDTH=columns, CHUNK=CHUNK, num_warps=4, num_stages=3,
    )  # fmt: skip
