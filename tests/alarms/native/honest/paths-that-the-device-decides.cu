#include <torch/extension.h>

__global__ void narrow(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * x[0]; }
__global__ void wide(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * x[1]; }

static int sm_count = 0;
static bool dependent = true;

void run(torch::Tensor x, torch::Tensor y) {
    if (sm_count == 0) cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0);
    if (sm_count > 132) {
        wide<<<sm_count, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    } else {
        narrow<<<sm_count, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    }
    if (dependent) {
        wide<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
        return;
    }
    narrow<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
}
