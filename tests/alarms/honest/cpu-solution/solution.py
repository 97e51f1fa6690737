import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>

torch::Tensor axpb(torch::Tensor x, double a, double b) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.device().is_cpu(), "axpb: expects fp32 on the CPU");
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    const float* from = in.data_ptr<float>();
    float* to = out.data_ptr<float>();
    const float fa = static_cast<float>(a), fb = static_cast<float>(b);
    at::parallel_for(0, in.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
        #pragma omp simd
        for (int64_t i = begin; i < end; ++i) to[i] = fa * from[i] + fb;
    });
    return out;
}
"""

_ext = load_inline("axpb_cpu", CPP, functions=["axpb"], extra_cflags=["-O3", "-march=native", "-fopenmp-simd"])


class Model(nn.Module):
    def __init__(self, a: float = 2.5, b: float = -0.5):
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _ext.axpb(x, self.a, self.b)
