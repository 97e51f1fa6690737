import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@functools.lru_cache(maxsize=None)
def _processors(index: int) -> int:
    return torch.cuda.get_device_properties(index).multi_processor_count


@functools.cache
def _block(n: int) -> int:
    return 1024 if n < 1 << 20 else 8192


@triton.jit
def _axpb(x_ptr, y_ptr, a, b, n, ALIGNED: tl.constexpr, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        if ALIGNED:
            i = tl.max_contiguous(tl.multiple_of(i, 16), 16)
        tl.store(y_ptr + i, a * tl.load(x_ptr + i, mask=i < n) + b, mask=i < n)


class Model(nn.Module):
    def __init__(self, a: float = 2.5, b: float = -0.5):
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        n = x.numel()
        aligned = x.data_ptr() % 64 == 0 and y.data_ptr() % 64 == 0
        programs = min(triton.cdiv(n, _block(n)), 8 * _processors(x.device.index or 0))
        _axpb[(programs,)](x, y, self.a, self.b, n, aligned, BLOCK=_block(n))
        return y
