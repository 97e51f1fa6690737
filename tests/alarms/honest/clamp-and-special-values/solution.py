import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, n, BLOCK):
        i = start + lanes
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
        top = tl.max(x, 0)
        if top > m:
            s = s * tl.exp(m - top)
            m = top
        safe = tl.where(m == -float("inf"), 0.0, m)
        s += tl.sum(tl.where(i < n, tl.exp(x - safe), 0.0), 0)
    scale = tl.where(s > 0.0, 1.0 / s, 0.0)
    for start in range(0, n, BLOCK):
        i = start + lanes
        x = tl.load(x_ptr + row * n + i, mask=i < n)
        tl.store(y_ptr + row * n + i, tl.exp(tl.minimum(x - m, 0.0)) * scale, mask=i < n)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() == 0:
            return torch.empty_like(x)
        if not x.is_cuda:
            raise ValueError("this kernel runs on a GPU")
        x = x.contiguous()
        y = torch.empty_like(x)
        _softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=4096, num_warps=8)
        return y
