import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _scatter(cache_ptr, new_ptr, pos_ptr, length, ROW: tl.constexpr):
    seq = tl.program_id(0).to(tl.int64)
    at = tl.load(pos_ptr + seq)
    lanes = tl.arange(0, ROW)
    row = tl.load(new_ptr + seq * ROW + lanes)
    tl.store(cache_ptr + (seq * length + at) * ROW + lanes, row, mask=at < length)


class Model(nn.Module):
    def forward(self, cache: torch.Tensor, new: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        batch, length = cache.shape[:2]
        row = cache[0, 0].numel()
        _scatter[(batch,)](cache, new.contiguous(), position, length, ROW=row)
        return cache
