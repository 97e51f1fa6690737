"""y = x @ w.T of bf16 matrices: what a solution is compared with."""

import torch


def inputs(case, generator, *, M, N, K):
    """x (M, K) and w (N, K) in bf16.

    ordinary: normal, w divided by the root of K. outliers: one column in 64 of x is 16 times larger.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)

    x, w = normal(M, K), normal(N, K) * K**-0.5
    if case == "outliers":
        x *= torch.where(torch.rand(K, generator=generator, device=device) < 1 / 64, 16, 1)
    return {"x": x, "w": w}


def reference(x, w, *, M, N, K):
    """y (M, N) in fp32, of exact products."""
    if x.is_cuda:
        return {"y": torch.mm(x, w.T, out_dtype=torch.float32)}
    return {"y": x.float() @ w.float().T}
