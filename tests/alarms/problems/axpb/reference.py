import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, a: float = 2.5, b: float = -0.5):
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * x + self.b
