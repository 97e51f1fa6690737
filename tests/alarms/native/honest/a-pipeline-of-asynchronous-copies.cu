#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

__device__ __forceinline__ void copy16(void* to, const void* from) {
    unsigned at = __cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n" :: "r"(at), "l"(from));
    asm volatile("cp.async.commit_group;\n" ::);
}
__global__ void pipe(const float4* x, float* y, int n) {
    extern __shared__ float4 stage[];
    float sum = 0.f;
    for (int k = 0; k < n; k += 32) {
        copy16(&stage[threadIdx.x], x + k + threadIdx.x);
        asm volatile("cp.async.wait_group %0;\n" :: "n"(1));
        __syncthreads();
        sum += stage[threadIdx.x].x * stage[threadIdx.x].y;
    }
    y[threadIdx.x] = sum;
}
