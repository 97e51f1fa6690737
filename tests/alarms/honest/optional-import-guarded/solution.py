import torch
import torch.nn as nn
import triton
import triton.language as tl

try:
    from triton.language.extra import libdevice
except ImportError:
    libdevice = None

try:
    import nvtx
except ImportError:
    nvtx = None


@triton.jit
def _ln(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    mean = tl.sum(x, 0) / n
    d = tl.where(cols < n, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
    b = tl.load(b_ptr + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, d * rstd * w + b, mask=cols < n)


class Model(nn.Module):
    def __init__(self, cols: int = 4096):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if nvtx is not None:
            nvtx.mark("layernorm")
        y = torch.empty_like(x)
        n = x.shape[-1]
        _ln[(x.numel() // n,)](x, self.weight, self.bias, y, n, 1e-5, BLOCK=triton.next_power_of_2(n), num_warps=8)
        return y
