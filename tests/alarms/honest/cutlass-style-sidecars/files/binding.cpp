#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "softmax with a compensated sum"); }
