"""Floors of kahan_softmax, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "our own Triton kernels with sums in fp64: torch.softmax sums in plain fp32, which loses too much "
    "in the buried rows. On a CPU torch.softmax in fp64"
)


def eager(x, y):
    """Softmax in fp64, rounded."""
    y.copy_(torch.softmax(x.double(), dim=1))


@functools.cache
def _compiled():
    return torch.compile(lambda x: torch.softmax(x.double(), dim=1).float())


def compiled(x, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x))


@functools.cache
def _kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def parts(x, part, N, BLOCK: tl.constexpr):
        row = tl.program_id(1).to(tl.int64)
        block = tl.program_id(0)
        columns = block * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=-float("inf"))
        top = tl.max(values, axis=0)
        total = tl.sum(tl.exp(values - top).to(tl.float64), axis=0)
        at = part + (row * tl.num_programs(0) + block) * 2
        tl.store(at, top.to(tl.float64))
        tl.store(at + 1, total)

    @triton.jit
    def finish(x, part, y, N, BLOCK: tl.constexpr, PARTS: tl.constexpr):
        row = tl.program_id(1).to(tl.int64)
        blocks = tl.num_programs(0)
        index = tl.arange(0, PARTS)
        at = part + (row * blocks + index) * 2
        tops = tl.load(at, mask=index < blocks, other=-float("inf")).to(tl.float32)
        top = tl.max(tops, axis=0)
        totals = tl.load(at + 1, mask=index < blocks, other=0.0)
        total = tl.sum(totals * tl.exp(tops - top), axis=0).to(tl.float32)
        columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y + row * N + columns, tl.exp(values - top) / total, mask=columns < N)

    return parts, finish


def library(x, y):
    """Two kernels: sums of blocks, then the quotients."""
    if not x.is_cuda:
        return eager(x, y)
    parts, finish = _kernels()
    rows, length = x.shape
    block = 8192
    blocks = -(-length // block)
    part = torch.empty(rows, blocks, 2, dtype=torch.float64, device=x.device)
    parts[(blocks, rows)](x, part, length, BLOCK=block, num_warps=8)
    count = 1 << (blocks - 1).bit_length()
    finish[(blocks, rows)](x, part, y, length, BLOCK=block, PARTS=count, num_warps=8)


def _running_sums(x, y, lanes):
    """Softmax with plain fp32 sums, each of every lanes-th term."""
    terms = (x - x.amax(1, keepdim=True)).exp()
    sums = torch.zeros(len(x), lanes, device=x.device)
    whole = x.shape[1] // lanes * lanes
    for column in terms[:, :whole].view(len(x), -1, lanes).unbind(1):
        sums += column
    sums[:, : x.shape[1] - whole] += terms[:, whole:]
    y.copy_(terms / sums.sum(1, keepdim=True))


def _plain_sums(x, y):
    _running_sums(x, y, 256)


def _half_of_the_row(x, y):
    half = x.shape[1] // 2
    top = x.amax(1, keepdim=True)
    y.copy_((x - top).exp() / (2 * (x[:, :half] - top).exp().sum(1, keepdim=True)))


def _half_precision(x, y):
    y.copy_(torch.softmax(x.half(), dim=1))


def _without_the_maximum(x, y):
    terms = x.exp()
    y.copy_(terms / terms.sum(1, keepdim=True))


def _without_the_tiny(x, y):
    terms = (x - x.amax(1, keepdim=True)).exp()
    y.copy_(terms / terms.masked_fill(terms < 1e-6, 0).sum(1, keepdim=True, dtype=torch.float64))


SHORTCUTS = {
    "plain fp32 sums of 256 threads": _plain_sums,
    "half of the row": _half_of_the_row,
    "fp16": _half_precision,
    "no maximum": _without_the_maximum,
    "only terms above 1e-6": _without_the_tiny,
}
