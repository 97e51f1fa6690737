"""Floors of bf16_gemm, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = "torch.mm, which is cuBLAS's product on a GPU and oneDNN's on a CPU"


def eager(x, w, y):
    """torch.matmul, and a copy."""
    y.copy_(x @ w.T)


@functools.cache
def _compiled():
    return torch.compile(lambda x, w: x @ w.T)


def compiled(x, w, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, w))


def library(x, w, y):
    """The product straight into y."""
    torch.mm(x, w.T, out=y)


def _rounded(rounding, largest):
    """Rounded with a scale for each row."""

    def scaled(values):
        step = values.float().abs().amax(1, keepdim=True) / largest
        return rounding(values / step).float() * step

    return scaled


_fp8 = _rounded(lambda values: values.to(torch.float8_e4m3fn), 448)
_int8 = _rounded(torch.round, 127)


def _in_fp8(x, w, y):
    y.copy_(_fp8(x) @ _fp8(w).T)


def _w_in_fp8(x, w, y):
    y.copy_(x.float() @ _fp8(w).T)


def _in_int8(x, w, y):
    y.copy_(_int8(x) @ _int8(w).T)


def _half_of_k(x, w, y):
    half = x.shape[1] // 2
    y.copy_(2 * (x[:, :half].float() @ w[:, :half].float().T))


def _most_of_k(x, w, y):
    most = x.shape[1] * 63 // 64
    y.copy_(x[:, :most].float() @ w[:, :most].float().T)


SHORTCUTS = {
    "x and w in fp8": _in_fp8,
    "w in fp8": _w_in_fp8,
    "x and w in int8": _in_int8,
    "half of K": _half_of_k,
    "63/64 of K": _most_of_k,
}
