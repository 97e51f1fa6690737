#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>
#include "kahan.cuh"

constexpr int THREADS = 512;

__global__ void __launch_bounds__(THREADS) softmax(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float peaks[THREADS];
    __shared__ Kahan sums[THREADS];
    const float* row = x + long(blockIdx.x) * n;
    float peak = -INFINITY;
    for (int i = threadIdx.x; i < n; i += THREADS) peak = fmaxf(peak, row[i]);
    peaks[threadIdx.x] = peak;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) peaks[threadIdx.x] = fmaxf(peaks[threadIdx.x], peaks[threadIdx.x + half]);
        __syncthreads();
    }
    peak = peaks[0];
    Kahan sum;
    for (int i = threadIdx.x; i < n; i += THREADS) sum.add(expf(row[i] - peak));
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x].add(sums[threadIdx.x + half]);
        __syncthreads();
    }
    const float scale = 1.f / sums[0].sum;
    for (int i = threadIdx.x; i < n; i += THREADS) y[long(blockIdx.x) * n + i] = expf(row[i] - peak) * scale;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat && x.dim() == 2, "kahan_softmax: expects a matrix in fp32");
    auto y = torch::empty_like(x);
    softmax<<<x.size(0), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), int(x.size(1)));
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}
