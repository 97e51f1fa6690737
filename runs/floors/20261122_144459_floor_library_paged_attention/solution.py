"""Library floor of paged_attention, taken from its baselines.

The best-known library kernel. our own Triton kernels, with keys split over blocks: torch has no
attention over pages. On a CPU the same as eager
"""

from __future__ import annotations

import functools
import torch


PAGE = 16


def _gathered(pages, block_table):
    """Pages of each sequence one after the other, (B, 2 L, H, D)."""
    return pages[block_table.long()].flatten(1, 2)


def _attention(q, keys, values, lengths):
    """Attention over the first so many of the keys (B, n, H, D)."""
    sequences, count, heads, width = keys.shape
    query = q.view(sequences, heads, -1, width).float()
    scores = torch.einsum("bhgd,blhd->bhgl", query, keys.float()) * width**-0.5
    beyond = torch.arange(count, device=q.device) >= lengths[:, None]
    weights = scores.masked_fill(beyond[:, None, None], -torch.inf).softmax(dim=3)
    return torch.einsum("bhgl,blhd->bhgd", weights, values.float()).flatten(1, 2)


def _plain(q, key_pages, value_pages, block_table, seq_lens):
    keys, values = _gathered(key_pages, block_table), _gathered(value_pages, block_table)
    return _attention(q, keys, values, seq_lens)


def eager(q, key_pages, value_pages, block_table, seq_lens, out):
    """Pages gathered, then two products and a softmax."""
    out.copy_(_plain(q, key_pages, value_pages, block_table, seq_lens))


@functools.cache
def _kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def parts(
        q, key_pages, value_pages, block_table, seq_lens, part, scale, table_width, splits,
        H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr,
    ):  # fmt: skip
        split = tl.program_id(0)
        head = tl.program_id(1)
        sequence = tl.program_id(2)
        length = tl.load(seq_lens + sequence)
        if split * CHUNK >= length:
            return
        rows = tl.arange(0, 16)
        width = tl.arange(0, D)
        at = q + ((sequence * H + head) * G + rows[:, None]) * D + width[None, :]
        query = tl.load(at, mask=rows[:, None] < G, other=0.0)
        top = tl.full((16,), -float("inf"), dtype=tl.float32)
        total = tl.zeros((16,), dtype=tl.float32)
        found = tl.zeros((16, D), dtype=tl.float32)
        for start in range(split * CHUNK, tl.minimum((split + 1) * CHUNK, length), TILE):
            token = start + tl.arange(0, TILE)
            inside = token < length
            entry = block_table + sequence * table_width + token // 16
            page = tl.load(entry, mask=inside, other=0).to(tl.int64)
            line = ((page * 16 + token % 16) * H + head) * D
            where = line[:, None] + width[None, :]
            keys = tl.load(key_pages + where, mask=inside[:, None], other=0.0)
            values = tl.load(value_pages + where, mask=inside[:, None], other=0.0)
            scores = tl.dot(query, tl.trans(keys)) * scale
            scores = tl.where(inside[None, :], scores, -float("inf"))
            higher = tl.maximum(top, tl.max(scores, axis=1))
            shrink = tl.exp2(top - higher)
            weights = tl.exp2(scores - higher[:, None])
            total = total * shrink + tl.sum(weights, axis=1)
            found = found * shrink[:, None] + tl.dot(weights.to(tl.bfloat16), values)
            top = higher
        line = ((sequence * H + head) * splits + split) * 16 + rows
        at = part + line * (D + 2)
        tl.store(at[:, None] + width[None, :], found)
        tl.store(at + D, top)
        tl.store(at + D + 1, total)

    @triton.jit
    def finish(
        part, seq_lens, out, splits,
        H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, CHUNK: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(0)
        sequence = tl.program_id(1)
        rows = tl.arange(0, 16)
        width = tl.arange(0, D)
        top = tl.full((16,), -float("inf"), dtype=tl.float32)
        total = tl.zeros((16,), dtype=tl.float32)
        found = tl.zeros((16, D), dtype=tl.float32)
        for split in range(0, tl.cdiv(tl.load(seq_lens + sequence), CHUNK)):
            at = part + (((sequence * H + head) * splits + split) * 16 + rows) * (D + 2)
            other = tl.load(at + D)
            higher = tl.maximum(top, other)
            shrink, weight = tl.exp2(top - higher), tl.exp2(other - higher)
            total = total * shrink + tl.load(at + D + 1) * weight
            more = tl.load(at[:, None] + width[None, :])
            found = found * shrink[:, None] + more * weight[:, None]
            top = higher
        at = out + ((sequence * H + head) * G + rows[:, None]) * D + width[None, :]
        tl.store(at, (found / total[:, None]).to(tl.bfloat16), mask=rows[:, None] < G)

    return parts, finish


def solve(q, key_pages, value_pages, block_table, seq_lens, out):
    """Each block attends to a stretch of the keys, then the stretches are put together."""
    if not q.is_cuda:
        return eager(q, key_pages, value_pages, block_table, seq_lens, out)
    parts, finish = _kernels()
    (sequences, heads, width), shared = q.shape, key_pages.shape[2]
    table_width = block_table.shape[1]
    chunk = 1024 if sequences * shared >= 128 else 512
    splits = -(-table_width * PAGE // chunk)
    part = torch.empty(sequences, shared, splits, 16, width + 2, device=q.device)
    sizes = {"H": shared, "G": heads // shared, "D": width, "CHUNK": chunk}
    parts[(splits, shared, sequences)](
        q, key_pages, value_pages, block_table, seq_lens, part,
        width**-0.5 * 1.4426950408889634, table_width, splits, TILE=64, num_warps=4, num_stages=3,
        **sizes,
    )  # fmt: skip
    finish[(shared, sequences)](part, seq_lens, out, splits, num_warps=4, **sizes)
