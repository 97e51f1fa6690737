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

void run(torch::Tensor x, torch::Tensor y, double a) {
    const int M = x.size(0), N = x.size(1);
    if (M == 4096 && N == 4096) scale<256><<<64, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, M * N);
    else if (N % 128 == 0) scale<128><<<64, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, M * N);
    else scale<64><<<64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, M * N);
}
