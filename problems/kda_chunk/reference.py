"""Kimi delta attention: what a solution is compared with.

For each sequence and head, with a state S (K, V) that starts at zero, token by token:

    S = exp(g)[:, None] * S
    S = S + beta * outer(k, v - k @ S)
    o = q @ S / sqrt(K)

Here that is done for chunks of tokens at a time, in fp64, which is the same.
"""

import torch

CHUNK = 64


def inputs(case, generator, *, B, T, H, K, V):
    """q and k (B, T, H, K), v (B, T, H, V), g (B, T, H, K) and beta (B, T, H).

    ordinary: channels forget within a few tokens to a thousand. lasting: they hardly forget, so
    that states hold what the whole sequence said. forgetful: some forget all at once.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device)

    slowest, fastest = {"lasting": (-5.0, -3.0), "forgetful": (-2.0, 0.5)}.get(case, (-3.5, -0.5))
    speed = torch.rand(H, K, generator=generator, device=device)
    rate = 10 ** (slowest + (fastest - slowest) * speed)
    g = torch.nn.functional.softplus(normal(B, T, H, K)).mul_(-rate).clamp_(min=-5)
    unit = torch.nn.functional.normalize
    return {
        "q": unit(normal(B, T, H, K), dim=3).to(torch.bfloat16),
        "k": unit(normal(B, T, H, K), dim=3).to(torch.bfloat16),
        "v": normal(B, T, H, V).to(torch.bfloat16),
        "g": g,
        "beta": normal(B, T, H).sigmoid().to(torch.bfloat16),
    }


def reference(q, k, v, g, beta, *, B, T, H, K, V):
    """o (B, T, H, V) in fp32."""

    def chunks(x):
        """(B, T, H, n) as (B * H, T / CHUNK, CHUNK, n), in fp64."""
        cut = x.view(B, T // CHUNK, CHUNK, H, -1).permute(0, 3, 1, 2, 4)
        return cut.double().reshape(B * H, T // CHUNK, CHUNK, -1)

    q, k, v, g, beta = (chunks(x) for x in (q, k, v, g, beta))
    decay = g.cumsum(2)
    last = decay[:, :, -1:]
    # What a token sees of an earlier one of its chunk decays from there to here.
    seen, sent = decay.exp(), k * (-decay).exp()
    asked, known = q * seen * K**-0.5, k * seen
    within = (asked @ sent.mT).tril()
    overlap = (known @ sent.mT).tril(-1) * beta
    # Each token corrects what those before it in its chunk have written.
    one = torch.eye(CHUNK, dtype=q.dtype, device=q.device)
    right = torch.cat([v, known], dim=3) * beta
    solved = torch.linalg.solve_triangular(one + overlap, right, upper=False, unitriangular=True)
    new, old = solved.split([V, K], dim=3)
    both = torch.cat([old, asked], dim=2)
    kept, written = last.exp().mT, (k * (last - decay).exp()).mT
    state = q.new_zeros(B * H, K, V)
    read = q.new_empty(B * H, T // CHUNK, 2 * CHUNK, V)
    for chunk in range(T // CHUNK):
        torch.bmm(both[:, chunk], state, out=read[:, chunk])
        change = new[:, chunk] - read[:, chunk, :CHUNK]
        state = torch.baddbmm(state * kept[:, chunk], written[:, chunk], change)
    change = new - read[:, :, :CHUNK]
    o = read[:, :, CHUNK:] + within @ change
    return {"o": o.float().view(B, H, T, V).transpose(1, 2).contiguous()}
