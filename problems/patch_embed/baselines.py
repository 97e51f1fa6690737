"""Floors of patch_embed, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "a copy that gathers the patches, then cuBLAS's product of them and the weights: cuDNN's conv3d "
    "is made for kernels that overlap"
)


def eager(x, weight, y):
    """torch.conv3d."""
    y.copy_(torch.nn.functional.conv3d(x, weight, stride=weight.shape[2:]))


@functools.cache
def _compiled():
    return torch.compile(
        lambda x, weight: torch.nn.functional.conv3d(x, weight, stride=weight.shape[2:])
    )


def compiled(x, weight, y):
    """torch.compile of the same."""
    y.copy_(_compiled()(x, weight))


def _patches(x, weight):
    """The patches of each image, (B, C * F * S * S, T * H * W), in memory patch by patch."""
    (count, channels), (_, _, frames, side, _) = x.shape[:2], weight.shape
    time, height, width = x.shape[2] // frames, x.shape[3] // side, x.shape[4] // side
    cut = x.view(count, channels, time, frames, height, side, width, side)
    gathered = cut.permute(0, 2, 4, 6, 1, 3, 5, 7).reshape(count, time * height * width, -1)
    return gathered.transpose(1, 2)


def library(x, weight, y):
    """Patches gathered, then a product for each image straight into y where rows are aligned."""
    kernels, out = weight.view(len(weight), -1), y.view(len(x), len(weight), -1)
    patches = _patches(x, weight)
    if out.shape[2] % 8 == 0:
        torch.bmm(kernels.expand(len(x), -1, -1), patches, out=out)
    else:
        out.copy_((patches.mT.flatten(0, 1) @ kernels.T).view(len(x), -1, len(weight)).mT)


def _product(patches, kernels, y):
    y.copy_((kernels.float() @ patches.float()).view_as(y))


def _half_of_k(x, weight, y):
    patches, kernels = _patches(x, weight), weight.view(len(weight), -1)
    half = kernels.shape[1] // 2
    _product(patches[:, :half], 2 * kernels[:, :half], y)


def _one_frame(x, weight, y):
    """Every frame of a patch taken to be its first; of a single frame, without its last row."""
    if weight.shape[2] == 1:
        short = weight.clone()
        short[:, :, :, -1] = 0
        return _product(_patches(x, weight), short.view(len(weight), -1), y)
    first = x[:, :, :: weight.shape[2]].repeat_interleave(weight.shape[2], dim=2)
    return _product(_patches(first, weight), weight.view(len(weight), -1), y)


def _fp8(values, dim):
    """Rounded to fp8, with a scale for each slice."""
    step = values.float().abs().amax(dim, keepdim=True) / 448
    return (values / step).to(torch.float8_e4m3fn).float() * step


def _inputs_in_fp8(x, weight, y):
    patches, kernels = _patches(x, weight), weight.view(len(weight), -1)
    _product(_fp8(patches, 1), kernels, y)


def _weights_in_fp8(x, weight, y):
    _product(_patches(x, weight), _fp8(weight.view(len(weight), -1), 1), y)


def _int8(values, dim):
    """Rounded to int8, with a scale for each slice."""
    step = values.float().abs().amax(dim, keepdim=True) / 127
    return (values / step).round() * step


def _in_int8(x, weight, y):
    _product(_int8(_patches(x, weight), 1), _int8(weight.view(len(weight), -1), 1), y)


def _pixels_transposed(x, weight, y):
    _product(_patches(x, weight), weight.transpose(3, 4).reshape(len(weight), -1), y)


SHORTCUTS = {
    "half of K": _half_of_k,
    "fewer pixels": _one_frame,
    "patches in fp8": _inputs_in_fp8,
    "weights in fp8": _weights_in_fp8,
    "patches and weights in int8": _in_int8,
    "rows and columns of a patch swapped": _pixels_transposed,
}
