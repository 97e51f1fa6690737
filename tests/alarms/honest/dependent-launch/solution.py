import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void statistics(const float* x, float2* stats, int n, float eps) {
    __shared__ float2 warps[32];
    float s = 0.f, q = 0.f;
    const float* row = x + long(blockIdx.x) * n;
    const float shift = row[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x) { const float d = row[i] - shift; s += d; q += d * d; }
    for (int o = 16; o; o >>= 1) { s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o); }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = make_float2(s, q);
    __syncthreads();
    if (threadIdx.x == 0) {
        s = q = 0.f;
        for (int w = 0; w < blockDim.x / 32; ++w) { s += warps[w].x; q += warps[w].y; }
        const float mean = s / n;
        stats[blockIdx.x] = make_float2(shift + mean, rsqrtf(q / n - mean * mean + eps));
    }
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void normalise(const float* x, const float2* stats, const float* w, const float* b, float* y, int n) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const float2 st = stats[blockIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const long at = long(blockIdx.x) * n + i;
        y[at] = (x[at] - st.x) * st.y * w[i] + b[i];
    }
}

void run(torch::Tensor x, torch::Tensor stats, torch::Tensor w, torch::Tensor b, torch::Tensor y, double eps) {
    const int rows = x.size(0), n = x.size(1);
    auto stream = at::cuda::getCurrentCUDAStream();
    auto* held = reinterpret_cast<float2*>(stats.data_ptr());
    statistics<<<rows, 512, 0, stream>>>(x.data_ptr<float>(), held, n, float(eps));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(rows);
    config.blockDim = dim3(512);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, normalise, (const float*)x.data_ptr<float>(), (const float2*)held, (const float*)w.data_ptr<float>(),
                       (const float*)b.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""

_ext = load_inline("layernorm_pdl", "void run(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, double);", CUDA,
                   functions=["run"], extra_cuda_cflags=["-arch=sm_90a"])


class Model(nn.Module):
    def __init__(self, cols: int = 4096):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        stats = torch.empty(x.shape[0], 2, device=x.device)
        _ext.run(x, stats, self.weight.detach(), self.bias.detach(), y, 1e-5)
        return y
