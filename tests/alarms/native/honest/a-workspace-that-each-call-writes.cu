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

static torch::Tensor workspace;
static float* partial = nullptr;
static size_t held = 0;
static int sm_count = 0;

static float* get_workspace(size_t wanted) {
    if (wanted > held) {
        if (partial) CHECK(cudaFree(partial));
        CHECK(cudaMalloc(&partial, wanted));
        held = wanted;
    }
    return partial;
}

torch::Tensor run(torch::Tensor x, double a) {
    if (!sm_count) cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0);
    if (!workspace.defined() || workspace.numel() < x.numel()) workspace = torch::empty_like(x);
    float* space = get_workspace(x.numel() * 4);
    auto y = torch::empty_like(x);
    scale<128><<<sm_count, 128>>>(x.data_ptr<float>(), space, a, x.numel());
    scale<128><<<sm_count, 128>>>(space, workspace.data_ptr<float>(), a, x.numel());
    scale<128><<<sm_count, 128>>>(workspace.data_ptr<float>(), y.data_ptr<float>(), a, x.numel());
    return y;
}
