import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    s = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf"))
        t = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - t) + tl.sum(tl.exp(x - t), 0)
        m = t
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n)
        tl.store(y_ptr + row * n + i, tl.exp(x - m) / s, mask=i < n)


def _launch(x, y, block, warps):
    _softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=warps)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.choice = (4096, 16)
        if torch.cuda.is_available():
            self._tune()

    def _tune(self) -> None:
        x = torch.rand(256, 32768, device="cuda")
        y = torch.empty_like(x)
        times = {}
        for block, warps in [(2048, 8), (4096, 8), (4096, 16), (8192, 16), (8192, 32)]:
            times[block, warps] = triton.testing.do_bench(lambda: _launch(x, y, block, warps), warmup=5, rep=20)
        self.choice = min(times, key=times.get)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        _launch(x, y, *self.choice)
        return y
