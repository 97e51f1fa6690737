"""Softmax of each row: what a solution is compared with."""

import math

import torch


def inputs(case, generator, *, R, N):
    """x (R, N) in float32.

    ordinary: normal, 4 wide. buried: one large term early in each row and all others below
    half a unit in the last place of it, which together make up as much as 1/20 of the sum. flat:
    nearly constant rows. shifted: rows that lie as far from zero as exp overflows and underflows.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device)

    if case == "buried":
        top = 4 * normal(R, 1)
        size = 0.5 + 0.5 * torch.rand(R, N, generator=generator, device=device)
        x = size.log_().add_(top - 24 * math.log(2))
        where = torch.randint(0, 32, (R, 1), generator=generator, device=device)
        return {"x": x.scatter_(1, where, top)}
    if case == "flat":
        return {"x": normal(R, N).mul_(0.01).add_(normal(R, 1))}
    if case == "shifted":
        return {"x": normal(R, N).mul_(4).add_(300 * normal(R, 1))}
    return {"x": normal(R, N).mul_(4)}


def reference(x, *, R, N):
    """y (R, N) in fp64."""
    return {"y": torch.softmax(x.double(), dim=1)}
