import torch
import torch.nn as nn


class Model(nn.Module):
    """y = x @ w.T in fp8 with per-channel scales of w."""

    def __init__(self, M: int, N: int, K: int):
        super().__init__()
        self.M, self.N, self.K = M, N, K
        w = torch.empty(N, K, dtype=torch.float32)
        nn.init.normal_(w, std=0.02)
        scale = w.abs().amax(dim=1, keepdim=True) / 448.0
        self.register_buffer("weight", (w / scale).to(torch.float8_e4m3fn))
        self.register_buffer("weight_scale", scale.squeeze(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = self.weight.to(torch.float32) * self.weight_scale[:, None]
        return (x.to(torch.float32) @ w.t()).to(torch.bfloat16)


def get_inputs():
    return [(torch.rand(M, K) * 8 - 4).to(torch.float8_e4m3fn)]


def get_init_inputs():
    return [M, N, K]


M, N, K = 4096, 4096, 4096
