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

torch::Tensor run(torch::Tensor x, double a) {
    static bool configured = false;
    if (!configured) {
        cudaFuncSetAttribute(scale<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304);
        configured = true;
    }
    static std::once_flag once;
    auto y = torch::empty_like(x);
    scale<256><<<8, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, x.numel());
    return y;
}
