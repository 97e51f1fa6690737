"""Compiled floor of kda_chunk, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch
import torch._dynamo

# Code for each shape. Else the second one gets code for any size: on an H200 times hung on which
# shape came first then, by up to 11 times, and torch 2.11 computed one problem wrongly.
torch._dynamo.config.automatic_dynamic_shapes = False


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


@functools.cache
def _compiled():
    return torch.compile(_within)


def solve(q, k, v, g, beta, o):
    """torch.compile of what is done within chunks."""
    _across(*_compiled()(q, k, v, g, beta), o)
