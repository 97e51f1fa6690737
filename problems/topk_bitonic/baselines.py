"""Floors of topk_bitonic, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = "torch.topk: torch's own radix selection, then a sort of what it found"


def eager(x, values, indices):
    """torch.topk, then copies."""
    found = x.topk(values.shape[1], dim=1)
    values.copy_(found.values)
    indices.copy_(found.indices)


@functools.cache
def _compiled():
    return torch.compile(lambda x, k: x.topk(k, dim=1))


def compiled(x, values, indices):
    """torch.compile of the same."""
    found = _compiled()(x, values.shape[1])
    values.copy_(found[0])
    indices.copy_(found[1])


def library(x, values, indices):
    """torch.topk into the outputs."""
    torch.topk(x, values.shape[1], dim=1, out=(values, indices))


def _take(x, chosen, values, indices):
    """The largest among chosen columns (R, n) of each row."""
    found = x.gather(1, chosen).topk(values.shape[1], dim=1)
    values.copy_(found.values)
    indices.copy_(chosen.gather(1, found.indices))


def _half_of_each_row(x, values, indices):
    found = x[:, : x.shape[1] // 2].topk(values.shape[1], dim=1)
    values.copy_(found.values)
    indices.copy_(found.indices)


def _best_of_stretches(x, values, indices):
    """The largest of 4 K stretches, and the largest of those."""
    size = x.shape[1] // (4 * values.shape[1])
    whole = x[:, : 4 * values.shape[1] * size].view(len(x), -1, size)
    first = torch.arange(whole.shape[1], device=x.device) * size
    _take(x, whole.argmax(2) + first, values, indices)


def _in_bf16(x, values, indices):
    found = x.to(torch.bfloat16).topk(values.shape[1], dim=1)
    values.copy_(x.gather(1, found.indices))
    indices.copy_(found.indices)


def _unordered(x, values, indices):
    eager(x, values, indices)
    values.copy_(values.flip(1))
    indices.copy_(indices.flip(1))


def _one_index(x, values, indices):
    eager(x, values, indices)
    indices[:] = indices[:, :1].clone()


def _above_a_threshold(x, values, indices):
    """The first K that are as far out as the largest K of a normal distribution."""
    rows, columns = x.shape
    share = torch.tensor(1 - values.shape[1] / columns, dtype=torch.float64)
    threshold = float(torch.special.ndtri(share))
    order = torch.arange(columns, device=x.device)
    chosen = torch.where(x >= threshold, order, columns + order)
    _take(x, chosen.topk(values.shape[1], dim=1, largest=False).values % columns, values, indices)


SHORTCUTS = {
    "half of each row": _half_of_each_row,
    "the best of 4 K stretches": _best_of_stretches,
    "order by bf16": _in_bf16,
    "smallest first": _unordered,
    "one index only": _one_index,
    "the first above a threshold": _above_a_threshold,
}
