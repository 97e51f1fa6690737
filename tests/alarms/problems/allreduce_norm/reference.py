import torch
import torch.distributed as dist
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, hidden: int = 8192):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        dist.all_reduce(y)
        return y * torch.rsqrt(y.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(y.dtype) * self.weight
