import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _grouped(x_ptr, off_ptr, g_ptr, u_ptr, o_ptr, H, I, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    expert = tl.program_id(2)
    low = tl.load(off_ptr + expert)
    high = tl.load(off_ptr + expert + 1)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    base = expert.to(tl.int64) * H * I
    for start in range(low + tl.program_id(0) * BM, high, tl.num_programs(0) * BM):
        rm = start + tl.arange(0, BM)
        gate = tl.zeros((BM, BN), tl.float32)
        up = tl.zeros((BM, BN), tl.float32)
        for k in range(0, H, BK):
            rk = k + tl.arange(0, BK)
            x = tl.load(x_ptr + rm[:, None] * H + rk[None, :], mask=(rm[:, None] < high) & (rk[None, :] < H), other=0.0)
            at = base + rk[:, None] * I + rn[None, :]
            inside = (rk[:, None] < H) & (rn[None, :] < I)
            gate = tl.dot(x, tl.load(g_ptr + at, mask=inside, other=0.0), gate)
            up = tl.dot(x, tl.load(u_ptr + at, mask=inside, other=0.0), up)
        y = gate * tl.sigmoid(gate) * up
        tl.store(o_ptr + rm[:, None] * I + rn[None, :], y.to(tl.bfloat16), mask=(rm[:, None] < high) & (rn[None, :] < I))


class _Replay:
    """A captured layer with buffers of its own; what it reads is copied in before each replay."""

    def __init__(self, inputs):
        self.inputs = [torch.empty_like(t).copy_(t) for t in inputs]
        tokens, _, gate, _ = self.inputs
        self.out = torch.empty(tokens.shape[0], gate.shape[2], device=tokens.device, dtype=tokens.dtype)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._launch()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._launch()

    def _launch(self):
        tokens, offsets, gate, up = self.inputs
        grid = (16, triton.cdiv(gate.shape[2], 128), gate.shape[0])
        _grouped[grid](tokens, offsets, gate, up, self.out, gate.shape[1], gate.shape[2], BM=128, BN=128, BK=64, num_warps=8)

    def __call__(self, inputs):
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.out.clone()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self._replays = {}

    def forward(self, tokens, offsets, w_gate, w_up):
        inputs = (tokens, offsets, w_gate, w_up)
        key = tuple((t.shape, t.dtype, t.device) for t in inputs)
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays[key] = _Replay(inputs)
        return replay(inputs)
