import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _sum_norm(peers_ptr, w_ptr, y_ptr, n, eps, WORLD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for peer in tl.static_range(WORLD):
        base = tl.load(peers_ptr + peer).to(tl.pointer_type(tl.bfloat16))
        acc += tl.load(base + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(acc * acc, 0) / n + eps)
    w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, (acc * inverse * w).to(tl.bfloat16), mask=cols < n)


class Model(nn.Module):
    def __init__(self, hidden: int = 8192):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))
        self._shared = {}

    def _buffer(self, x: torch.Tensor):
        key = (x.shape, x.dtype)
        if key not in self._shared:
            mine = symm_mem.empty(x.shape, dtype=x.dtype, device=x.device)
            handle = symm_mem.rendezvous(mine, dist.group.WORLD)
            self._shared[key] = (mine, handle)
        return self._shared[key]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mine, handle = self._buffer(x)
        mine.copy_(x)
        handle.barrier()
        peers = torch.tensor(handle.buffer_ptrs, device=x.device, dtype=torch.int64)
        y = torch.empty_like(x)
        rows, n = x.shape
        _sum_norm[(rows,)](peers, self.weight, y, n, 1e-6, WORLD=dist.get_world_size(), BLOCK=triton.next_power_of_2(n), num_warps=16)
        handle.barrier()
        return y
