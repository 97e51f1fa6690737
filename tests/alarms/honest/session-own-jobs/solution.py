import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ln(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    mean = tl.sum(x, 0) / n
    d = tl.where(cols < n, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(y_ptr + row * n + cols, d * rstd * tl.load(w_ptr + cols, mask=cols < n) + tl.load(b_ptr + cols, mask=cols < n), mask=cols < n)


class Model(nn.Module):
    def __init__(self, cols: int = 4096):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        _ln[(x.shape[0],)](x, self.weight, self.bias, y, x.shape[1], 1e-5, triton.next_power_of_2(x.shape[1]), num_warps=8)
        return y
