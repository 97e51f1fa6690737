import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _merge_topk(x_ptr, v_ptr, i_ptr, n, K: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    pos = tl.arange(0, B)
    # bitonic networks need a power of two; what lies behind the row sorts last
    v = tl.load(x_ptr + row * n + pos, mask=pos < n, other=-float("inf"))
    i = pos
    for size in tl.static_range(1, 18):
        if (1 << size) <= B:
            for step in tl.static_range(size):
                other = pos ^ (1 << (size - 1 - step))
                ov, oi = tl.gather(v, other, 0), tl.gather(i, other, 0)
                descending = (pos & (1 << size)) == 0
                larger = (ov > v) | ((ov == v) & (oi < i))
                take = larger == ((pos < other) == descending)
                v, i = tl.where(take, ov, v), tl.where(take, oi, i)
    tl.store(v_ptr + row * K + pos, v, mask=pos < K)
    tl.store(i_ptr + row * K + pos, i.to(tl.int64), mask=pos < K)


class Model(nn.Module):
    def __init__(self, batch: int, n: int, k: int):
        super().__init__()
        self.k = k

    def forward(self, x):
        v = torch.empty(x.shape[0], self.k, device=x.device, dtype=x.dtype)
        i = torch.empty(x.shape[0], self.k, device=x.device, dtype=torch.int64)
        _merge_topk[(x.shape[0],)](x, v, i, x.shape[1], self.k, triton.next_power_of_2(x.shape[1]), num_warps=32)
        return v, i
