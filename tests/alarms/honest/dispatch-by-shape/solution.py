import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _whole_row(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


@triton.jit
def _stats(x_ptr, m_ptr, s_ptr, n, span, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    end = min((part + 1) * span, n)
    m = -float("inf")
    s = 0.0
    for start in range(part * span, end, BLOCK):
        x = tl.load(x_ptr + row * n + start + lanes, mask=start + lanes < end, other=-float("inf"))
        higher = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - higher) + tl.sum(tl.exp(x - higher), 0)
        m = higher
    tl.store(m_ptr + row * tl.num_programs(1) + part, m)
    tl.store(s_ptr + row * tl.num_programs(1) + part, s)


@triton.jit
def _normalise(x_ptr, y_ptr, m_ptr, s_ptr, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, PARTS)
    ms = tl.load(m_ptr + row * PARTS + parts)
    m = tl.max(ms, 0)
    total = tl.sum(tl.load(s_ptr + row * PARTS + parts) * tl.exp(ms - m), 0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(y_ptr + row * n + cols, tl.exp(x - m) / total, mask=cols < n)


class Model(nn.Module):
    """Few long rows leave most of the device idle, so those are split; the arithmetic is the same."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, n = x.shape
        y = torch.empty_like(x)
        if n <= 32768 and rows >= 256:
            _whole_row[(rows,)](x, y, n, BLOCK=triton.next_power_of_2(n), num_warps=32)
            return y
        parts = 32
        m = torch.empty(rows, parts, device=x.device)
        s = torch.empty(rows, parts, device=x.device)
        _stats[(rows, parts)](x, m, s, n, triton.cdiv(n, parts), BLOCK=2048)
        _normalise[(rows, triton.cdiv(n, 4096))](x, y, m, s, n, PARTS=parts, BLOCK=4096)
        return y
