"""Floors of the product with a bias, and ways to cheat at it."""

import torch

LIBRARY = "torch.mm: one product, and a sum."


def library(x, w, b, y):
    y.copy_(torch.mm(x.float(), w.float()) + b)


def eager(x, w, b, y):
    y.copy_(torch.addmm(b, x.float(), w.float()))


def compiled(x, w, b, y):
    torch.compile(eager)(x, w, b, y)


def half_the_sum(x, w, b, y):
    half = x.shape[1] // 2
    y.copy_(torch.addmm(b, x[:, :half].float(), w[:half].float()))


def no_bias(x, w, b, y):
    y.copy_(x.float() @ w.float())


SHORTCUTS = {"half the sum": half_the_sum, "no bias": no_bias}
