"""silu(x @ w_gate) * (x @ w_up), expert by expert: what a solution is compared with."""

import torch


def inputs(case, generator, *, T, K, H, I, E):
    """x (T * K, H), expert_offsets (E + 1), w_gate and w_up (E, H, I).

    ordinary: each row goes to an expert drawn evenly. skewed: few experts have most rows, and a
    fifth of them none. outliers: a few columns of x are 16 times larger.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)

    share = torch.rand(T * K, generator=generator, device=device)
    expert = (0.8 * E * share**3 if case == "skewed" else E * share).long()
    order = torch.randperm(E, generator=generator, device=device)
    counts = expert.bincount(minlength=E)[order]
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    x = normal(T * K, H)
    if case == "outliers":
        x *= torch.where(torch.rand(H, generator=generator, device=device) < 1 / 128, 16, 1)
    return {
        "x": x,
        "expert_offsets": offsets.to(torch.int32),
        "w_gate": normal(E, H, I) * H**-0.5,
        "w_up": normal(E, H, I) * H**-0.5,
    }


def _product(x, weights):
    """x @ weights in fp32, of exact products."""
    if x.is_cuda:
        return torch.mm(x, weights, out_dtype=torch.float32)
    return x.float() @ weights.float()


def reference(x, expert_offsets, w_gate, w_up, *, T, K, H, I, E):
    """out (T * K, I) in fp32."""
    out = torch.empty(T * K, I, device=x.device)
    offsets = expert_offsets.tolist()
    for expert, (first, end) in enumerate(zip(offsets, offsets[1:])):
        if first < end:
            rows = x[first:end]
            gate, up = _product(rows, w_gate[expert]), _product(rows, w_up[expert])
            out[first:end] = torch.nn.functional.silu(gate) * up
    return {"out": out}
