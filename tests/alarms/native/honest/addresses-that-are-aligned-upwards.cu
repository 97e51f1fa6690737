#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

template <int TILE>
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
    __shared__ float tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) y[i] = a * tile[threadIdx.x] + 0.5f * x[i];
}

__global__ void load(const unsigned char* x, float* y) {
    extern __shared__ unsigned char raw[];
    auto* stage = (unsigned char*)(((uintptr_t)raw + 1023) & ~(uintptr_t)1023);
    unsigned long long desc = 0x4000004000010000ull | ((uint64_t)(stage - raw) >> 4);
    y[threadIdx.x] = (float)desc * x[threadIdx.x];
}
void run(torch::Tensor x) {
    auto at = (reinterpret_cast<uintptr_t>(x.data_ptr()) + 255) & ~uintptr_t(255);
    TORCH_CHECK((reinterpret_cast<uintptr_t>(x.data_ptr()) & 15) == 0, "x must be aligned");
}
