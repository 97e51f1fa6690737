import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, N: int = 4096, K: int = 4096):
        super().__init__()
        self.register_buffer("weight", torch.zeros(N, K, dtype=torch.float8_e4m3fn))
        self.register_buffer("scale", torch.ones(N))

    def forward(self, x):
        s = x.float().abs().amax(1, keepdim=True).clamp(min=1e-8) / 448
        q = (x.float() / s).to(torch.float8_e4m3fn).float()
        return ((q @ self.weight.float().t()) * s * self.scale).to(torch.bfloat16)
