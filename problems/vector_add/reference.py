"""z = x + y: what a solution is compared with."""

import torch


def inputs(case, generator, *, N):
    """x and y (N) in fp32.

    ordinary: normal. outliers: one element in 64 of y is 16 times larger.
    """
    device = generator.device

    def normal():
        return torch.randn(N, generator=generator, device=device)

    x, y = normal(), normal()
    if case == "outliers":
        y *= torch.where(torch.rand(N, generator=generator, device=device) < 1 / 64, 16, 1)
    return {"x": x, "y": y}


def reference(x, y, *, N):
    """z (N) in fp64."""
    return {"z": x.double() + y.double()}
