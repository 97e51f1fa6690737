"""Floors of paged_attention, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "our own Triton kernels, with keys split over blocks: torch has no attention over pages. "
    "On a CPU the same as eager"
)

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
def _compiled():
    return torch.compile(_plain)


def compiled(q, key_pages, value_pages, block_table, seq_lens, out):
    """torch.compile of the same."""
    out.copy_(_compiled()(q, key_pages, value_pages, block_table, seq_lens))


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


def library(q, key_pages, value_pages, block_table, seq_lens, out):
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


def _unmasked(q, key_pages, value_pages, block_table, seq_lens, out):
    whole = (seq_lens + PAGE - 1) // PAGE * PAGE
    out.copy_(_plain(q, key_pages, value_pages, block_table, whole))


def _half_of_the_keys(q, key_pages, value_pages, block_table, seq_lens, out):
    out.copy_(_plain(q, key_pages, value_pages, block_table, (seq_lens + 1) // 2))


def _without_the_last_pages(q, key_pages, value_pages, block_table, seq_lens, out):
    fewer = (seq_lens - 2 * PAGE).clamp(min=1)
    out.copy_(_plain(q, key_pages, value_pages, block_table, fewer))


def _all_of_mean_length(q, key_pages, value_pages, block_table, seq_lens, out):
    mean = torch.full_like(seq_lens, block_table.shape[1] * PAGE // 2)
    out.copy_(_plain(q, key_pages, value_pages, block_table, mean))


def _pages_in_order(q, key_pages, value_pages, block_table, seq_lens, out):
    order = torch.arange(block_table.numel(), device=q.device) % len(key_pages)
    out.copy_(_plain(q, key_pages, value_pages, order.view_as(block_table), seq_lens))


def _mean_of_the_values(q, key_pages, value_pages, block_table, seq_lens, out):
    out.copy_(_plain(torch.zeros_like(q), key_pages, value_pages, block_table, seq_lens))


def _keys_in_fp8(q, key_pages, value_pages, block_table, seq_lens, out):
    rounded = key_pages.to(torch.float8_e4m3fn).to(q.dtype)
    out.copy_(_plain(q, rounded, value_pages, block_table, seq_lens))


def _values_in_fp8(q, key_pages, value_pages, block_table, seq_lens, out):
    rounded = value_pages.to(torch.float8_e4m3fn).to(q.dtype)
    out.copy_(_plain(q, key_pages, rounded, block_table, seq_lens))


SHORTCUTS = {
    "no mask in the last page": _unmasked,
    "half of the keys": _half_of_the_keys,
    "without the last 32 tokens": _without_the_last_pages,
    "all of the mean length": _all_of_mean_length,
    "pages in order": _pages_in_order,
    "mean of the values": _mean_of_the_values,
    "keys in fp8": _keys_in_fp8,
    "values in fp8": _values_in_fp8,
}
