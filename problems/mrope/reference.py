"""Rotary embedding along three axes: what a solution is compared with."""

import torch


def inputs(case, generator, *, B, T, H, J, D, P):
    """q (B, T, H, D), k (B, T, J, D), positions (3, B, T), and the tables cos and sin (P, D / 2).

    ordinary: some text, where all three positions are the same, then frames of a grid. scattered:
    positions drawn one by one. outliers: a few channels of q and k are 32 times larger.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)

    def whole(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator, device=device)

    q, k = normal(B, T, H, D), normal(B, T, J, D)
    if case == "scattered":
        positions = whole(0, P, 3, B, T)
    else:
        start, text = whole(0, P, B, 1), whole(T // 4, T // 2 + 1, B, 1)
        height, width = whole(6, 48, B, 1), whole(6, 48, B, 1)
        token = torch.arange(T, device=device)
        cell = token - text
        grid = (cell // (height * width), cell // width % height, cell % width)
        positions = torch.stack([start + torch.where(cell < 0, token, text + g) for g in grid]) % P
    if case == "outliers":
        large = torch.rand(D, generator=generator, device=device) < 1 / 32
        q, k = q * torch.where(large, 32, 1), k * torch.where(large, 32, 1)
    base = 10 ** (4 + 2 * torch.rand(1, generator=generator, device=device))
    frequencies = base ** -(torch.arange(D // 2, device=device) / (D // 2))
    angles = torch.arange(P, device=device)[:, None] * frequencies
    return {
        "q": q,
        "k": k,
        "positions": positions.to(torch.int32),
        "cos": angles.cos().to(torch.bfloat16),
        "sin": angles.sin().to(torch.bfloat16),
    }


def axes(D):
    """The axis of each of the D / 2 frequencies: D / 8 of time, 3 D / 16 of height and of width."""
    return [0] * (D // 8) + [1] * (3 * D // 16) + [2] * (3 * D // 16)


def reference(q, k, positions, cos, sin, *, B, T, H, J, D, P):
    """q_out (B, H, T, D) and k_out (B, J, T, D) in fp32."""
    frequency = torch.arange(D // 2, device=q.device)
    position = positions.long()[axes(D)].permute(1, 2, 0)
    cosine = cos[position, frequency].float()[:, :, None]
    sine = sin[position, frequency].float()[:, :, None]

    def rotated(x):
        first, second = x.float().chunk(2, dim=3)
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        return torch.cat(turned, dim=3).transpose(1, 2).contiguous()

    return {"q_out": rotated(q), "k_out": rotated(k)}
