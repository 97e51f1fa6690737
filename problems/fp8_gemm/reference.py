"""y = x @ w.T of fp8 matrices: what a solution is compared with."""

import torch


def inputs(case, generator, *, M, N, K):
    """x (M, K) and w (N, K) in float8_e4m3fn.

    ordinary: normal. outliers: one column in 64 of x, and one row in 64 of w, is 8 times larger.
    tiny: down to fp8's smallest numbers.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device)

    x, w = normal(M, K), normal(N, K)
    if case == "outliers":
        x *= torch.where(torch.rand(K, generator=generator, device=device) < 1 / 64, 8.0, 1.0)
        w *= torch.where(torch.rand(N, 1, generator=generator, device=device) < 1 / 64, 8.0, 1.0)
    elif case == "tiny":
        x, w = x.mul_(2.0**-6), w.mul_(2.0**-6)
    return {"x": x.to(torch.float8_e4m3fn), "w": w.to(torch.float8_e4m3fn)}


def reference(x, w, *, M, N, K):
    """y (M, N) in fp32: bf16 holds every fp8 number, so that the products are exact."""
    if x.is_cuda:
        x, w = x.to(torch.bfloat16), w.to(torch.bfloat16)
        return {"y": torch.mm(x, w.T, out_dtype=torch.float32)}
    return {"y": x.float() @ w.float().T}
