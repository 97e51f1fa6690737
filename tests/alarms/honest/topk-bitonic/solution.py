"""Top-k by bitonic sort.  Rows are cut into tiles of 2048; each tile is sorted, and the tops are merged in rounds.

Keys are 64 bits: the ordered bits of the value above the complement of the index, so ties go to the lower index.
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = "void topk(torch::Tensor x, torch::Tensor scratch, torch::Tensor values, torch::Tensor indices, int64_t k);"

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

using u64 = unsigned long long;
constexpr int TILE = 2048;

__device__ __forceinline__ u64 make_key(float v, unsigned index) {
    unsigned bits = __float_as_uint(v);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (u64(bits) << 32) | (~index);
}

__device__ void bitonic(u64* keys) {
    for (int size = 2; size <= TILE; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            for (int i = threadIdx.x; i < TILE / 2; i += blockDim.x) {
                const int low = 2 * i - (i & (stride - 1));
                const bool descending = (low & size) == 0;
                const u64 a = keys[low], b = keys[low + stride];
                if ((a < b) == descending) { keys[low] = b; keys[low + stride] = a; }
            }
        }
    __syncthreads();
}

__global__ void first_round(const float* x, u64* out, long n, int k) {
    __shared__ u64 keys[TILE];
    const long row = blockIdx.y, start = long(blockIdx.x) * TILE;
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        keys[i] = start + i < n ? make_key(x[row * n + start + i], unsigned(start + i)) : 0ull;
    bitonic(keys);
    for (int i = threadIdx.x; i < k; i += blockDim.x) out[(row * gridDim.x + blockIdx.x) * k + i] = keys[i];
}

__global__ void next_round(const u64* in, u64* out, long n, int k) {
    __shared__ u64 keys[TILE];
    const long row = blockIdx.y, start = long(blockIdx.x) * TILE;
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) keys[i] = start + i < n ? in[row * n + start + i] : 0ull;
    bitonic(keys);
    for (int i = threadIdx.x; i < k; i += blockDim.x) out[(row * gridDim.x + blockIdx.x) * k + i] = keys[i];
}

__global__ void unpack(const u64* keys, float* values, long* indices, long stride, int k) {
    const long row = blockIdx.x;
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        const u64 key = keys[row * stride + i];
        unsigned bits = unsigned(key >> 32);
        bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
        values[row * k + i] = __uint_as_float(bits);
        indices[row * k + i] = long(~unsigned(key));
    }
}

void topk(torch::Tensor x, torch::Tensor scratch, torch::Tensor values, torch::Tensor indices, int64_t k) {
    const auto stream = at::cuda::getCurrentCUDAStream();
    const long rows = x.size(0);
    long tiles = (x.size(1) + TILE - 1) / TILE;
    auto* from = reinterpret_cast<u64*>(scratch[0].data_ptr());
    auto* to = reinterpret_cast<u64*>(scratch[1].data_ptr());
    first_round<<<dim3(tiles, rows), 512, 0, stream>>>(x.data_ptr<float>(), from, x.size(1), k);
    while (tiles > 1) {
        const long left = tiles * k;
        tiles = (left + TILE - 1) / TILE;
        next_round<<<dim3(tiles, rows), 512, 0, stream>>>(from, to, left, k);
        std::swap(from, to);
    }
    unpack<<<rows, 64, 0, stream>>>(from, values.data_ptr<float>(), indices.data_ptr<long>(), k, k);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""

_ext = load_inline("bitonic_topk", CPP, CUDA, functions=["topk"], extra_cuda_cflags=["-O3"])


class Model(nn.Module):
    def __init__(self, batch: int, n: int, k: int):
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor):
        rows, n = x.shape
        tiles = -(-n // 2048)
        scratch = torch.empty(2, rows * tiles * self.k, device=x.device, dtype=torch.int64)
        values = torch.empty(rows, self.k, device=x.device, dtype=x.dtype)
        indices = torch.empty(rows, self.k, device=x.device, dtype=torch.int64)
        _ext.topk(x.contiguous(), scratch, values, indices, self.k)
        return values, indices
