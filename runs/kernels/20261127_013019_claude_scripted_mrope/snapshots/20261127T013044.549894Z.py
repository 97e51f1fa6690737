"""Rotary embedding along three axes: a program turns some heads of a few tokens."""

import triton
import triton.language as tl


@triton.jit
def rotate(x, out, positions, cos, sin, B, T, H, HALF: tl.constexpr, TOKENS: tl.constexpr, HEADS: tl.constexpr):
    batch, first = tl.program_id(2), tl.program_id(0) * HEADS
    tokens = tl.program_id(1) * TOKENS + tl.arange(0, TOKENS)
    width = tl.arange(0, HALF)
    axis = tl.where(width < HALF // 4, 0, tl.where(width < HALF // 4 + 3 * HALF // 8, 1, 2))
    known = (tokens < T)[:, None]
    position = tl.load(positions + (axis[None, :] * B + batch) * T + tokens[:, None], mask=known, other=0)
    cosine = tl.load(cos + position * HALF + width[None, :], mask=known, other=0).to(tl.float32)
    sine = tl.load(sin + position * HALF + width[None, :], mask=known, other=0).to(tl.float32)
    for head in range(first, min(first + HEADS, H)):
        line = ((batch * T + tokens).to(tl.int64) * H + head) * (2 * HALF)
        at = x + line[:, None] + width[None, :]
        left = tl.load(at, mask=known, other=0).to(tl.float32)
        right = tl.load(at + HALF, mask=known, other=0).to(tl.float32)
        line = ((batch * H + head).to(tl.int64) * T + tokens) * (2 * HALF)
        at = out + line[:, None] + width[None, :]
        tl.store(at, (left * cosine - right * sine).to(tl.bfloat16), mask=known)
        tl.store(at + HALF, (right * cosine + left * sine).to(tl.bfloat16), mask=known)


def turn(x, out, positions, cos, sin):
    sequences, length, heads, width = x.shape
    tokens, each = 16, 8
    rotate[(triton.cdiv(heads, each), triton.cdiv(length, tokens), sequences)](
        x, out, positions, cos, sin, sequences, length, heads,
        HALF=width // 2, TOKENS=tokens, HEADS=each, num_warps=4,
    )


def solve(q, k, positions, cos, sin, q_out, k_out):
    turn(q, q_out, positions, cos, sin)
    turn(k, k_out, positions, cos, sin)
