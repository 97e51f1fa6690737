import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 16, "BN": 64}, num_warps=4, num_stages=5),
        triton.Config({"BM": 32, "BN": 128}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 128}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def _w4_gemm(x_ptr, q_ptr, s_ptr, z_ptr, y_ptr, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    half = tl.arange(0, GROUP // 2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for g in range(0, K // GROUP):
        packed = tl.load(q_ptr + (g * (GROUP // 2) + half[:, None]) * N + rn[None, :], mask=rn[None, :] < N, other=0)
        scale = tl.load(s_ptr + g * N + rn, mask=rn < N, other=0.0)
        zero = tl.load(z_ptr + g * N + rn, mask=rn < N, other=0.0)
        low = ((packed & 0xF).to(tl.bfloat16) - zero[None, :]) * scale[None, :]
        high = ((packed >> 4).to(tl.bfloat16) - zero[None, :]) * scale[None, :]
        at = x_ptr + rm[:, None] * K + g * GROUP + 2 * half[None, :]
        even = tl.load(at, mask=rm[:, None] < M, other=0.0)
        odd = tl.load(at + 1, mask=rm[:, None] < M, other=0.0)
        acc = tl.dot(even, low, acc)
        acc = tl.dot(odd, high, acc)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=(rm[:, None] < M) & (rn[None, :] < N))


class Model(nn.Module):
    def __init__(self, M: int, N: int, K: int, group: int = 128):
        super().__init__()
        self.group = group
        self.register_buffer("w_q", torch.zeros(K // 2, N, dtype=torch.uint8))
        self.register_buffer("scales", torch.ones(K // group, N, dtype=torch.bfloat16))
        self.register_buffer("zeros", torch.zeros(K // group, N, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        M, K = x.shape
        N = self.w_q.shape[1]
        y = torch.empty(M, N, device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        _w4_gemm[grid](x, self.w_q, self.scales, self.zeros, y, M, N, K, self.group)
        return y
