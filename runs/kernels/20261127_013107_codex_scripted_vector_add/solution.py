import torch


def solve(x, y, z):
    torch.add(x, y, out=z)
