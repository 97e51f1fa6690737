import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _grouped_swiglu(x_ptr, expert_ptr, start_ptr, end_ptr, g_ptr, u_ptr, o_ptr, H, I,
                    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    expert = tl.load(expert_ptr + tile).to(tl.int64)
    low, high = tl.load(start_ptr + tile), tl.load(end_ptr + tile)
    rm = low + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for k in range(0, H, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * H + rk[None, :], mask=(rm[:, None] < high) & (rk[None, :] < H), other=0.0)
        at = expert * H * I + rk[:, None] * I + rn[None, :]
        inside = (rk[:, None] < H) & (rn[None, :] < I)
        gate = tl.dot(x, tl.load(g_ptr + at, mask=inside, other=0.0), gate)
        up = tl.dot(x, tl.load(u_ptr + at, mask=inside, other=0.0), up)
    y = gate * tl.sigmoid(gate) * up
    tl.store(o_ptr + rm[:, None] * I + rn[None, :], y.to(tl.bfloat16), mask=(rm[:, None] < high) & (rn[None, :] < I))


class Model(nn.Module):
    TILE = 128

    def _schedule(self, offsets: torch.Tensor):
        """Expert, first and last row of every tile; ragged and empty experts included."""
        sizes = offsets[1:] - offsets[:-1]
        tiles = torch.div(sizes + self.TILE - 1, self.TILE, rounding_mode="floor")
        experts = torch.repeat_interleave(torch.arange(sizes.numel(), device=offsets.device), tiles)
        order = torch.arange(experts.numel(), device=offsets.device) - (tiles.cumsum(0) - tiles)[experts]
        start = offsets[:-1][experts] + order * self.TILE
        end = torch.minimum(start + self.TILE, offsets[1:][experts])
        return experts, start, end

    def forward(self, tokens, offsets, w_gate, w_up):
        experts, start, end = self._schedule(offsets)
        H, I = w_gate.shape[1:]
        out = torch.empty(tokens.shape[0], I, device=tokens.device, dtype=tokens.dtype)
        grid = (experts.numel(), triton.cdiv(I, 128))
        _grouped_swiglu[grid](tokens, experts, start, end, w_gate, w_up, out, H, I, BM=self.TILE, BN=128, BK=64, num_warps=8)
        return out
