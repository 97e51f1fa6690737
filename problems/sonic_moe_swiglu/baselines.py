"""Floors of sonic_moe_swiglu, and shortcuts that its bound has to refuse."""

import functools

import torch

LIBRARY = (
    "torch._grouped_mm twice, then silu and a product: cuBLAS's or CUTLASS's grouped product on a "
    "GPU; nothing that torch brings along fuses the rest"
)


def _swiglu(gate, up):
    return torch.nn.functional.silu(gate.float()) * up.float()


def eager(x, expert_offsets, w_gate, w_up, out):
    """Expert by expert."""
    offsets = expert_offsets.tolist()
    for expert, (first, end) in enumerate(zip(offsets, offsets[1:])):
        if first < end:
            rows = x[first:end]
            out[first:end] = _swiglu(rows @ w_gate[expert], rows @ w_up[expert])


def _products(x, expert_offsets, w_gate, w_up):
    ends = expert_offsets[1:]
    return torch._grouped_mm(x, w_gate, offs=ends), torch._grouped_mm(x, w_up, offs=ends)


@functools.cache
def _compiled():
    return torch.compile(_swiglu)


def compiled(x, expert_offsets, w_gate, w_up, out):
    """Grouped products, and torch.compile of the rest."""
    out.copy_(_compiled()(*_products(x, expert_offsets, w_gate, w_up)))


def library(x, expert_offsets, w_gate, w_up, out):
    """Grouped products, and the rest in bf16."""
    gate, up = _products(x, expert_offsets, w_gate, w_up)
    torch.mul(torch.nn.functional.silu(gate, inplace=True), up, out=out)


def _with(change, x, expert_offsets, w_gate, w_up, out):
    """The same of operands that were changed first, in fp32."""
    offsets = expert_offsets.tolist()
    for expert, (first, end) in enumerate(zip(offsets, offsets[1:])):
        rows, gate, up = change(x[first:end], w_gate[expert], w_up[expert])
        out[first:end] = _swiglu(rows.float() @ gate.float(), rows.float() @ up.float())


def _half_of_h(*tensors):
    def change(x, gate, up):
        half = x.shape[1] // 2
        return x[:, :half], 2 * gate[:half], 2 * up[:half]

    _with(change, *tensors)


def _rounded(rounding, largest):
    """Operands rounded with a scale for each row of x and each column of the weights."""

    def change(x, gate, up):
        def scaled(values, dim):
            step = values.float().abs().amax(dim, keepdim=True) / largest
            return rounding(values / step) * step

        return scaled(x, 1), scaled(gate, 0), scaled(up, 0)

    return change


def _in_fp8(*tensors):
    _with(_rounded(lambda values: values.to(torch.float8_e4m3fn).float(), 448), *tensors)


def _weights_in_fp8(*tensors):
    change = _rounded(lambda values: values.to(torch.float8_e4m3fn).float(), 448)
    _with(lambda x, *weights: (x, *change(x, *weights)[1:]), *tensors)


def _in_int8(*tensors):
    _with(_rounded(torch.round, 127), *tensors)


def _evenly_split(x, expert_offsets, w_gate, w_up, out):
    even = torch.linspace(0, len(x), len(expert_offsets), device=x.device).to(torch.int32)
    eager(x, even, w_gate, w_up, out)


def _without_silu(x, expert_offsets, w_gate, w_up, out):
    gate, up = _products(x, expert_offsets, w_gate, w_up)
    torch.mul(gate, up, out=out)


def _relu(x, expert_offsets, w_gate, w_up, out):
    gate, up = _products(x, expert_offsets, w_gate, w_up)
    torch.mul(gate.relu(), up, out=out)


def _hard_silu(x, expert_offsets, w_gate, w_up, out):
    gate, up = _products(x, expert_offsets, w_gate, w_up)
    torch.mul(torch.nn.functional.hardswish(gate), up, out=out)


SHORTCUTS = {
    "half of H": _half_of_h,
    "all in fp8": _in_fp8,
    "weights in fp8": _weights_in_fp8,
    "all in int8": _in_int8,
    "rows split evenly": _evenly_split,
    "no silu": _without_silu,
    "relu in place of silu": _relu,
    "hardswish in place of silu": _hard_silu,
}
