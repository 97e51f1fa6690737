"""Library floor of patch_embed, taken from its baselines.

The best-known library kernel. a copy that gathers the patches, then cuBLAS's product of them and
the weights: cuDNN's conv3d is made for kernels that overlap
"""

from __future__ import annotations

import torch


def _patches(x, weight):
    """The patches of each image, (B, C * F * S * S, T * H * W), in memory patch by patch."""
    (count, channels), (_, _, frames, side, _) = x.shape[:2], weight.shape
    time, height, width = x.shape[2] // frames, x.shape[3] // side, x.shape[4] // side
    cut = x.view(count, channels, time, frames, height, side, width, side)
    gathered = cut.permute(0, 2, 4, 6, 1, 3, 5, 7).reshape(count, time * height * width, -1)
    return gathered.transpose(1, 2)


def solve(x, weight, y):
    """Patches gathered, then a product for each image straight into y where rows are aligned."""
    kernels, out = weight.view(len(weight), -1), y.view(len(x), len(weight), -1)
    patches = _patches(x, weight)
    if out.shape[2] % 8 == 0:
        torch.bmm(kernels.expand(len(x), -1, -1), patches, out=out)
    else:
        out.copy_((patches.mT.flatten(0, 1) @ kernels.T).view(len(x), -1, len(weight)).mT)
