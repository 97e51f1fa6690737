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

__global__ void second(const float* x, float* y, int n) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
    asm volatile("griddepcontrol.launch_dependents;");
}
void run(torch::Tensor x, torch::Tensor y) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attrs[1];
    attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attrs[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attrs; config.numAttrs = 1;
    config.stream = at::cuda::getCurrentCUDAStream();
    cudaLaunchKernelEx(&config, second, x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
}
