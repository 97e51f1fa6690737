import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _layernorm(x_ptr, w_ptr, b_ptr, y_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n
    rstd = tl.rsqrt(variance + eps)
    w = tl.load(w_ptr + cols, mask=inside, other=0.0)
    b = tl.load(b_ptr + cols, mask=inside, other=0.0)
    tl.store(y_ptr + row * stride + cols, centred * rstd * w + b, mask=inside)


class Model(nn.Module):
    def __init__(self, cols: int = 4096, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        y = torch.empty_like(flat)
        block = triton.next_power_of_2(shape[-1])
        warps = min(max(block // 256, 1), 16)
        _layernorm[(flat.shape[0],)](flat, self.weight, self.bias, y, flat.stride(0), shape[-1], self.eps,
                                     BLOCK=block, num_warps=warps)
        return y.reshape(shape)
