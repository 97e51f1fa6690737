import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The problem allows libraries: the vendor's kernel adds the bias in its epilogue."""

    def __init__(self, N: int = 4096, K: int = 4096):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(N, K, dtype=torch.bfloat16).normal_(std=0.02))
        self.bias = nn.Parameter(torch.empty(N, dtype=torch.bfloat16).normal_())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)
