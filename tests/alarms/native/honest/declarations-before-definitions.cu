#include <torch/extension.h>

struct Plan { torch::Tensor out; std::vector<torch::Tensor> parts; };
void epilogue(torch::Tensor y, const torch::Tensor& scale);
std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor out);

__global__ void twice(const float* x, float* out) { out[threadIdx.x] = 2.f * x[threadIdx.x] + x[0]; }

torch::Tensor run(torch::Tensor x) {
    torch::Tensor out = torch::empty_like(x);
    twice<<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>());
    if (!out.defined()) return out;
    return out;
}
