from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

HERE = Path(__file__).resolve().parent / "files"
_ext = load(
    name="kahan_softmax",
    sources=[str(HERE / "binding.cpp"), str(HERE / "kahan.cu")],
    extra_include_paths=[str(HERE)],
    extra_cuda_cflags=["-O3", "-lineinfo", "--fmad=false"],
)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _ext.forward(x.contiguous())
