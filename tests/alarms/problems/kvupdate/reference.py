import torch
import torch.nn as nn


class Model(nn.Module):
    """Updates `cache` in place, as the problem asks, and returns it."""

    def forward(self, cache: torch.Tensor, new: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(cache.shape[0], device=cache.device)
        cache[rows, position] = new
        return cache
