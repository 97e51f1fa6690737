import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__device__ void grid_barrier(unsigned* arrived, unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < blocks) __nanosleep(32);
        __threadfence();
    }
    __syncthreads();
}

__global__ void mse(const float4* p, const float4* t, float* partial, unsigned* arrived, float* out, long n4, double n) {
    __shared__ float warps[32];
    float s = 0.f;
    for (long i = blockIdx.x * long(blockDim.x) + threadIdx.x; i < n4; i += gridDim.x * long(blockDim.x)) {
        const float4 a = __ldcs(p + i), b = __ldcs(t + i);
        const float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z, w = a.w - b.w;
        s += x * x + y * y + z * z + w * w;
    }
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        float block = 0.f;
        for (int w = 0; w < blockDim.x / 32; ++w) block += warps[w];
        partial[blockIdx.x] = block;
    }
    grid_barrier(arrived, gridDim.x);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        double total = 0.0;
        for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = float(total / n);
    }
}

void run(torch::Tensor p, torch::Tensor t, torch::Tensor partial, torch::Tensor arrived, torch::Tensor out) {
    TORCH_CHECK(p.numel() % 4 == 0, "mse: expects a multiple of four elements");
    auto *a = reinterpret_cast<const float4*>(p.data_ptr()), *b = reinterpret_cast<const float4*>(t.data_ptr());
    float *s = partial.data_ptr<float>(), *o = out.data_ptr<float>();
    auto* c = reinterpret_cast<unsigned*>(arrived.data_ptr());
    long n4 = p.numel() / 4;
    double n = double(p.numel());
    void* arguments[] = {&a, &b, &s, &c, &o, &n4, &n};
    cudaLaunchCooperativeKernel((void*)mse, dim3(partial.size(0)), dim3(512), arguments, 0, at::cuda::getCurrentCUDAStream());
}
"""

_ext = load_inline("mse_cooperative", "void run(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor);", CUDA, functions=["run"])


class Model(nn.Module):
    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        device = prediction.device
        blocks = 2 * torch.cuda.get_device_properties(device).multi_processor_count
        partial = torch.empty(blocks, device=device)
        arrived = torch.zeros(1, device=device, dtype=torch.int32)
        out = torch.empty((), device=device)
        _ext.run(prediction.contiguous(), target.contiguous(), partial, arrived, out)
        return out
