"""Floors of vector_add, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = "torch.add, one kernel"


def eager(x, y, z):
    """A sum, and a copy."""
    z.copy_(x + y)


@functools.cache
def _compiled():
    return torch.compile(lambda x, y, z: z.copy_(x + y))


def compiled(x, y, z):
    """torch.compile of the same."""
    _compiled()(x, y, z)


def library(x, y, z):
    """The sum straight into z."""
    torch.add(x, y, out=z)


def _y_in_bf16(x, y, z):
    z.copy_(x + y.bfloat16().float())


def _y_in_fp16(x, y, z):
    z.copy_(x + y.half().float())


def _z_in_tf32(x, y, z):
    """Rounded to ten bits behind the point."""
    bits = (x + y).view(torch.int32)
    z.copy_(((bits + 0x1000) & ~0x1FFF).view(torch.float32))


SHORTCUTS = {"y in bf16": _y_in_bf16, "y in fp16": _y_in_fp16, "z in tf32": _z_in_tf32}
