"""FP32 GEMM through bf16 tensor cores.

Three bf16 parts hold the 24 bits of an fp32 significand.  All products of parts down to the order of 2^-16 are summed in
fp32; what is left out lies below the rounding of fp32 itself.
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _parts(x):
    first = x.to(tl.bfloat16)
    rest = x - first.to(tl.float32)
    second = rest.to(tl.bfloat16)
    third = (rest - second.to(tl.float32)).to(tl.bfloat16)
    return first, second, third


@triton.jit
def _gemm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        x0, x1, x2 = _parts(x)
        y0, y1, y2 = _parts(y)
        small = tl.dot(x2, y0)
        small = tl.dot(x1, y1, small)
        small = tl.dot(x0, y2, small)
        small = tl.dot(x1, y0, small)
        small = tl.dot(x0, y1, small)
        acc += tl.dot(x0, y0, small)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device, dtype=torch.float32)
        _gemm[(triton.cdiv(M, 128), triton.cdiv(N, 64))](a, b, c, M, N, K, 128, 64, 32, num_warps=8)
        return c
