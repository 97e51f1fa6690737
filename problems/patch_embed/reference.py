"""Patches times weights: what a solution is compared with."""

import torch


def inputs(case, generator, *, B, C, T, H, W, F, S, E):
    """x (B, C, T * F, H * S, W * S) and weight (E, C, F, S, S) in bfloat16.

    ordinary: normal. outliers: one pixel in 1000 is 32 times larger. bright: each channel of an
    image lies around a level of its own, far from zero.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)

    x = normal(B, C, T * F, H * S, W * S)
    if case == "outliers":
        large = torch.rand(x.shape[2:], generator=generator, device=device) < 1e-3
        x *= torch.where(large, 32, 1)
    elif case == "bright":
        x += 4 * normal(B, C, 1, 1, 1)
    return {"x": x, "weight": normal(E, C, F, S, S) / 32}


def reference(x, weight, *, B, C, T, H, W, F, S, E):
    """y (B, E, T, H, W) in fp32."""
    cut = x.view(B, C, T, F, H, S, W, S).permute(0, 2, 4, 6, 1, 3, 5, 7)
    patches, kernels = cut.reshape(B * T * H * W, -1), weight.view(E, -1)
    if x.is_cuda:
        y = torch.mm(patches, kernels.T, out_dtype=torch.float32)
    else:
        y = patches.float() @ kernels.float().T
    return {"y": y.view(B, T, H, W, E).permute(0, 4, 1, 2, 3).contiguous()}
