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
    static cudaStream_t side = nullptr;
    static cudaEvent_t fork, join;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    auto stream = at::cuda::getCurrentCUDAStream().stream();
    auto y = torch::empty_like(x), z = torch::empty_like(x);
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(side, fork, 0);
    scale<256><<<8, 256, 0, side>>>(x.data_ptr<float>(), z.data_ptr<float>(), a, x.numel());
    scale<256><<<8, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, x.numel());
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
    return y;
}
