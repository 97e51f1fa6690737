import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _split(q_ptr, kv_ptr, table_ptr, len_ptr, part_ptr, stat_ptr, scale, width, splits,
           PAGE: tl.constexpr, KVH: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr):
    seq, kvh, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(len_ptr + seq)
    pages = tl.cdiv(length, PAGE)
    share = tl.cdiv(pages, splits)
    first = part * share
    last = min(first + share, pages)
    dims = tl.arange(0, D)
    heads = kvh * GROUP + tl.arange(0, GROUP)
    q = tl.load(q_ptr + (seq * KVH * GROUP + heads[:, None]) * D + dims[None, :]).to(tl.float32) * scale
    peak = tl.full((GROUP,), -float("inf"), tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    acc = tl.zeros((GROUP, D), tl.float32)
    for page in range(first, last):
        block = tl.load(table_ptr + seq * width + page).to(tl.int64)
        slots = tl.arange(0, PAGE)
        inside = page * PAGE + slots < length
        at = ((block * PAGE + slots[:, None]) * 2 * KVH + kvh) * D + dims[None, :]
        k = tl.load(kv_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
        v = tl.load(kv_ptr + at + KVH * D, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(q[:, None, :] * k[None, :, :], 2)
        scores = tl.where(inside[None, :], scores, -float("inf"))
        higher = tl.maximum(peak, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        fade = tl.exp(peak - higher)
        acc = acc * fade[:, None] + tl.sum(weights[:, :, None] * v[None, :, :], 1)
        total = total * fade + tl.sum(weights, 1)
        peak = higher
    where = (seq * KVH * GROUP + heads) * splits + part
    tl.store(part_ptr + where[:, None] * D + dims[None, :], acc)
    tl.store(stat_ptr + where * 2, peak)
    tl.store(stat_ptr + where * 2 + 1, total)


@triton.jit
def _merge(part_ptr, stat_ptr, o_ptr, SPLITS: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    parts = tl.arange(0, SPLITS)
    dims = tl.arange(0, D)
    peak = tl.load(stat_ptr + (head * SPLITS + parts) * 2)
    total = tl.load(stat_ptr + (head * SPLITS + parts) * 2 + 1)
    weight = tl.where(total > 0, tl.exp(peak - tl.max(peak, 0)), 0.0)
    acc = tl.load(part_ptr + (head * SPLITS + parts[:, None]) * D + dims[None, :])
    out = tl.sum(acc * weight[:, None], 0) / tl.sum(total * weight, 0)
    tl.store(o_ptr + head * D + dims, out.to(tl.bfloat16))


class Model(nn.Module):
    def forward(self, q, kv, block_table, lengths):
        batch, heads, dim = q.shape
        kv_heads, page = kv.shape[-2], kv.shape[1]
        splits = 8
        parts = torch.empty(batch * heads, splits, dim, device=q.device, dtype=torch.float32)
        stats = torch.empty(batch * heads, splits, 2, device=q.device, dtype=torch.float32)
        out = torch.empty_like(q)
        _split[(batch, kv_heads, splits)](q, kv, block_table, lengths, parts, stats, dim**-0.5, block_table.shape[1], splits,
                                          PAGE=page, KVH=kv_heads, GROUP=heads // kv_heads, D=dim)
        _merge[(batch * heads,)](parts, stats, out, SPLITS=splits, D=dim)
        return out
