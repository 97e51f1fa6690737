"""Rotary embedding along three axes."""

import torch


def turned(x, cosine, sine):
    first, second = x.float().chunk(2, dim=3)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=3).transpose(1, 2)


def solve(q, k, positions, cos, sin, q_out, k_out):
    half = q.shape[3] // 2
    axis = torch.tensor([0] * (half // 4) + [1] * (3 * half // 8) + [2] * (3 * half // 8), device=q.device)
    position = positions[axis].permute(1, 2, 0)
    frequency = torch.arange(half, device=q.device)
    cosine = cos[position, frequency].float()[:, :, None]
    sine = sin[position, frequency].float()[:, :, None]
    q_out.copy_(turned(q, cosine, sine))
    k_out.copy_(turned(k, cosine, sine))
