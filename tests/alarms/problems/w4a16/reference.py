import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, M: int, N: int, K: int, group: int = 128):
        super().__init__()
        self.register_buffer("w_q", torch.zeros(K // 2, N, dtype=torch.uint8))
        self.register_buffer("scales", torch.ones(K // group, N, dtype=torch.bfloat16))
        self.register_buffer("zeros", torch.zeros(K // group, N, dtype=torch.bfloat16))
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low, high = self.w_q & 0xF, self.w_q >> 4
        w = torch.stack([low, high], 1).reshape(-1, self.w_q.shape[1]).to(torch.bfloat16)
        scale = self.scales.repeat_interleave(self.group, 0)
        zero = self.zeros.repeat_interleave(self.group, 0)
        return x @ ((w - zero) * scale)
