"""Compiled floor of paged_attention, taken from its baselines.

The reference under torch.compile.
"""

from __future__ import annotations

import functools
import torch
import torch._dynamo

# Code for each shape. Else the second one gets code for any size: on an H200 times hung on which
# shape came first then, by up to 11 times, and torch 2.11 computed one problem wrongly.
torch._dynamo.config.automatic_dynamic_shapes = False


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


@functools.cache
def _compiled():
    return torch.compile(_plain)


def solve(q, key_pages, value_pages, block_table, seq_lens, out):
    """torch.compile of the same."""
    out.copy_(_compiled()(q, key_pages, value_pages, block_table, seq_lens))
