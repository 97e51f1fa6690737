import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _axpb(x_ptr, y_ptr, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, a * x + b, mask=i < n)


def _launch(x, y, a, b):
    n = x.numel()
    _axpb[(triton.cdiv(n, 4096),)](x, y, a, b, n, BLOCK=4096)


class Model(nn.Module):
    def __init__(self, a: float = 2.5, b: float = -0.5):
        super().__init__()
        self.a, self.b = a, b
        self._side = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        if self._side is None:
            self._side = torch.cuda.Stream(device=x.device)
        main = torch.cuda.current_stream(x.device)
        half = x.numel() // 2
        flat_x, flat_y = x.view(-1), y.view(-1)
        self._side.wait_stream(main)
        with torch.cuda.stream(self._side):
            _launch(flat_x[half:], flat_y[half:], self.a, self.b)
            done = torch.cuda.Event()
            done.record(self._side)
        _launch(flat_x[:half], flat_y[:half], self.a, self.b)
        main.wait_event(done)
        for t in (x, y):
            t.record_stream(self._side)
        return y
