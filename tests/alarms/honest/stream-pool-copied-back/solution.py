import torch
import torch.nn as nn
import triton
import triton.language as tl

LANES = 4


@triton.jit
def _ln(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    mean = tl.sum(x, 0) / n
    d = tl.where(cols < n, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
    b = tl.load(b_ptr + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, d * rstd * w + b, mask=cols < n)


class Model(nn.Module):
    def __init__(self, cols: int = 4096):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))
        self._lanes: list[torch.cuda.Stream] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        if not self._lanes:
            self._lanes = [torch.cuda.Stream(x.device) for _ in range(LANES)]
        here = torch.cuda.current_stream(x.device)
        for lane, rows, out in zip(self._lanes, x.chunk(LANES), y.chunk(LANES)):
            lane.wait_stream(here)
            with torch.cuda.stream(lane):
                _ln[(rows.shape[0],)](rows, self.weight, self.bias, out, x.shape[1], 1e-5, BLOCK=triton.next_power_of_2(x.shape[1]))
        for lane in self._lanes:
            here.wait_stream(lane)
        return y
