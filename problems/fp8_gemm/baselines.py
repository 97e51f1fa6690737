"""Floors of fp8_gemm, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "torch._scaled_mm with fast accumulation and scales of 1, for each row where N and K are "
    "multiples of 128, else for all: the quickest fp8 products on an H200; on a CPU oneDNN's"
)


def eager(x, w, y):
    """The product in bf16, which holds every fp8 number."""
    torch.mm(x.to(torch.bfloat16), w.to(torch.bfloat16).T, out=y)


@functools.cache
def _compiled():
    return torch.compile(lambda x, w: x.to(torch.bfloat16) @ w.to(torch.bfloat16).T)


def compiled(x, w, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, w))


@functools.cache
def _ones(shape, device):
    return torch.ones(shape, device=device)


def library(x, w, y):
    """cuBLASLt's or CUTLASS's fp8 product."""
    (rows, depth), columns = x.shape, len(w)
    by_row = columns % 128 == 0 and depth % 128 == 0
    scales = ((rows, 1), (1, columns)) if by_row else ((), ())
    left, right = (_ones(shape, x.device) for shape in scales)
    torch._scaled_mm(
        x, w.T, scale_a=left, scale_b=right, out_dtype=torch.bfloat16,
        use_fast_accum=x.is_cuda, out=y,
    )  # fmt: skip


def _four_bits(values):
    """Rounded to 15 levels a row, which int4 holds."""
    values = values.float()
    step = values.abs().amax(1, keepdim=True) / 7
    return (values / step).round() * step


def _fp4(values):
    """Rounded to e2m1, with a scale for each 32 of a row."""
    values = values.float()
    rows, columns = values.shape
    blocks = torch.nn.functional.pad(values, (0, -columns % 32)).view(rows, -1, 32)
    scale = blocks.abs().amax(2, keepdim=True).clamp(min=1e-30) / 6
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device=values.device)
    edges = (levels[1:] + levels[:-1]) / 2
    rounded = levels[torch.bucketize((blocks / scale).abs(), edges)] * blocks.sign() * scale
    return rounded.view(rows, -1)[:, :columns]


def _weights_in_four_bits(x, w, y):
    y.copy_(x.float() @ _four_bits(w).T)


def _weights_in_fp4(x, w, y):
    y.copy_(x.float() @ _fp4(w).T)


def _both_in_fp4(x, w, y):
    y.copy_(_fp4(x) @ _fp4(w).T)


def _half_of_k(x, w, y):
    half = x.shape[1] // 2
    y.copy_(2 * (x[:, :half].float() @ w[:, :half].float().T))


def _most_of_k(x, w, y):
    most = x.shape[1] * 63 // 64
    y.copy_(x[:, :most].float() @ w[:, :most].float().T)


SHORTCUTS = {
    "weights in int4": _weights_in_four_bits,
    "weights in fp4": _weights_in_fp4,
    "both operands in fp4": _both_in_fp4,
    "half of K": _half_of_k,
    "63/64 of K": _most_of_k,
}
