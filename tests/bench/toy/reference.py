"""A product in bf16 with a bias, as precisely as fp32 has it."""

import torch


def inputs(case, generator, *, M, N, K):
    def normal(*sizes):
        return torch.randn(*sizes, generator=generator, device=generator.device)

    x = normal(M, K)
    if case == "outliers":
        x[:, :: max(K // 8, 1)] *= 8
    return {"x": x.bfloat16(), "w": (normal(K, N) / K**0.5).bfloat16(), "b": normal(N)}


def reference(x, w, b, *, M, N, K):
    return {"y": x.float() @ w.float() + b}
