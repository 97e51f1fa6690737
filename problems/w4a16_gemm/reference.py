"""y = x @ dequantised weights: what a solution is compared with."""

import torch

GROUP = 128
COLUMNS = 8192
"""Columns of weights that are unpacked at a time."""


def inputs(case, generator, *, M, N, K):
    """x (M, K), packed (K / 2, N), scales and zeros (K / 128, N).

    ordinary: normal x, zeros around 8. outliers: a few columns of x are 32 times larger. uneven:
    scales differ a hundredfold, and zeros take all values.
    """
    device = generator.device

    def whole(low, high, *shape, dtype):
        return torch.randint(low, high, shape, generator=generator, device=device, dtype=dtype)

    def uniform(*shape):
        return torch.rand(shape, generator=generator, device=device)

    x = torch.randn(M, K, generator=generator, device=device)
    scales = 0.005 + 0.01 * uniform(K // GROUP, N)
    zeros = whole(6, 11, K // GROUP, N, dtype=torch.int32)
    if case == "outliers":
        x *= torch.where(uniform(K) < 1 / 128, 32.0, 1.0)
    elif case == "uneven":
        scales = 0.001 * 100 ** uniform(K // GROUP, N)
        zeros = whole(0, 16, K // GROUP, N, dtype=torch.int32)
    return {
        "x": x.to(torch.bfloat16),
        "packed": whole(0, 256, K // 2, N, dtype=torch.uint8),
        "scales": scales.to(torch.bfloat16),
        "zeros": zeros.to(torch.bfloat16),
    }


def _product(x, fours):
    """x @ fours in fp32: bf16 holds every whole number of four bits, so products are exact."""
    if x.is_cuda:
        return torch.bmm(x, fours.to(torch.bfloat16), out_dtype=torch.float32)
    return x.float() @ fours.float()


def reference(x, packed, scales, zeros, *, M, N, K):
    """y (M, N) in fp32: group by group, sum of x * scale * (weight - zero)."""
    groups = K // GROUP
    even, odd = x.view(M, groups, GROUP // 2, 2).permute(3, 1, 0, 2).contiguous()
    sums = (even.float() + odd.float()).sum(2, keepdim=True)
    y = torch.empty(M, N, device=x.device)
    for start in range(0, N, COLUMNS):
        part = slice(start, start + COLUMNS)
        pairs = packed[:, part].view(groups, GROUP // 2, -1)
        found = _product(even, pairs & 15) + _product(odd, pairs >> 4)
        found -= sums * zeros[:, None, part].float()
        y[:, part] = (found * scales[:, None, part].float()).sum(0)
    return {"y": y}
