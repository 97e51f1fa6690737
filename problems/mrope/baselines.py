"""Floors of mrope, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "our own Triton kernel, a few tokens and heads at a time: torch has no rotary embedding. "
    "On a CPU the same as eager"
)


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


def compiled(q, k, positions, cos, sin, q_out, k_out):
    """torch.compile of the same."""
    _compiled()(q, k, positions, cos, sin, q_out, k_out)


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


def library(q, k, positions, cos, sin, q_out, k_out):
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


def _time_only(q, k, positions, *rest):
    eager(q, k, positions[:1].expand(3, -1, -1), *rest)


def _axes_swapped(q, k, positions, *rest):
    eager(q, k, positions[[0, 2, 1]], *rest)


def _not_rotated(q, k, positions, cos, sin, q_out, k_out):
    q_out.copy_(q.transpose(1, 2))
    k_out.copy_(k.transpose(1, 2))


def _positions_in_order(q, k, positions, cos, *rest):
    order = torch.arange(q.shape[1], device=q.device, dtype=torch.int32) % len(cos)
    eager(q, k, order.expand_as(positions), cos, *rest)


def _fp8(x):
    return x.to(torch.float8_e4m3fn).to(x.dtype)


def _inputs_in_fp8(q, k, *rest):
    eager(_fp8(q), _fp8(k), *rest)


def _tables_in_fp8(q, k, positions, cos, sin, *rest):
    eager(q, k, positions, _fp8(cos), _fp8(sin), *rest)


def _outputs_in_fp8(*tensors):
    eager(*tensors)
    for out in tensors[-2:]:
        out.copy_(_fp8(out))


SHORTCUTS = {
    "time's positions for all axes": _time_only,
    "height and width swapped": _axes_swapped,
    "not rotated": _not_rotated,
    "positions in order": _positions_in_order,
    "q and k in fp8": _inputs_in_fp8,
    "tables in fp8": _tables_in_fp8,
    "outputs in fp8": _outputs_in_fp8,
}
