from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

COMMON = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
constexpr int THREADS = 1024;

template <bool MAX> __device__ float reduce(float v) {
    __shared__ float warps[32];
    for (int o = 16; o; o >>= 1) {
        const float w = __shfl_xor_sync(0xffffffffu, v, o);
        v = MAX ? fmaxf(v, w) : v + w;
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % 32];
    for (int o = 16; o; o >>= 1) {
        const float w = __shfl_xor_sync(0xffffffffu, v, o);
        v = MAX ? fmaxf(v, w) : v + w;
    }
    __syncthreads();
    return v;
}
"""

CACHED = COMMON + r"""
template <int ITEMS> __global__ void softmax(const float* x, float* y, int n) {
    const float* row = x + long(blockIdx.x) * n;
    float v[ITEMS], m = -INFINITY, s = 0.f;
    for (int k = 0; k < ITEMS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        v[k] = i < n ? row[i] : -INFINITY;
        m = fmaxf(m, v[k]);
    }
    m = reduce<true>(m);
    for (int k = 0; k < ITEMS; ++k) { v[k] = __expf(v[k] - m); s += v[k]; }
    s = 1.f / reduce<false>(s);
    for (int k = 0; k < ITEMS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < n) y[long(blockIdx.x) * n + i] = v[k] * s;
    }
}
void run(torch::Tensor x, torch::Tensor y) {
    softmax<32><<<x.size(0), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
}
"""

STREAMED = COMMON + r"""
__global__ void softmax(const float* x, float* y, int n) {
    const float* row = x + long(blockIdx.x) * n;
    float m = -INFINITY, s = 0.f;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const float v = row[i], t = fmaxf(m, v);
        s = s * __expf(m - t) + __expf(v - t);
        m = t;
    }
    const float top = reduce<true>(m);
    s = 1.f / reduce<false>(m == -INFINITY ? 0.f : s * __expf(m - top));
    for (int i = threadIdx.x; i < n; i += THREADS) y[long(blockIdx.x) * n + i] = __expf(row[i] - top) * s;
}
void run(torch::Tensor x, torch::Tensor y) {
    softmax<<<x.size(0), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
}
"""


def _build(name, source):
    return load_inline(name, "void run(torch::Tensor, torch::Tensor);", source, functions=["run"], extra_cuda_cflags=["-O3"])


with ThreadPoolExecutor(max_workers=2) as pool:
    _jobs = [pool.submit(_build, "softmax_cached", CACHED), pool.submit(_build, "softmax_streamed", STREAMED)]
    _cached, _streamed = (job.result() for job in _jobs)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        (_cached if x.shape[1] <= 32 * 1024 else _streamed).run(x, y)
        return y
