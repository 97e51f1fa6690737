#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

__global__ void look(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) printf("block %d sees %f\n", blockIdx.x, x[i]);
    if (i < n) y[i] = x[i] * 3.f - 1.f;
    assert(n > 0);
}
static bool debug() { return std::getenv("MY_KERNEL_DEBUG") != nullptr; }
