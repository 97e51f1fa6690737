"""The K largest of each row: what a solution is compared with."""

import torch


def inputs(case, generator, *, R, N, K):
    """x (R, N) in float32.

    ordinary: normal. ties: about a hundred different values. clustered: the largest of a row all
    stand within 2 K places beside each other. monotone: rows that rise or fall all along.
    """
    device = generator.device

    def whole(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator, device=device)

    if case == "monotone":
        x = torch.rand(R, N, generator=generator, device=device)
        x += torch.arange(N, device=device)
        return {"x": x.mul_(2 * whole(0, 2, R, 1) - 1)}
    x = torch.randn(R, N, generator=generator, device=device)
    if case == "ties":
        # 0 is added to turn -0 into 0.
        return {"x": x.mul_(12).round_().add_(0.0)}
    if case == "clustered":
        places = whole(0, N - 2 * K + 1, R, 1) + torch.arange(2 * K, device=device)
        x.scatter_(1, places, x.gather(1, places).abs_().add_(8))
    return {"x": x}


def reference(x, *, R, N, K):
    """values (R, K) in fp32, the largest first, and indices (R, K) in int64."""
    values, indices = x.topk(K, dim=1)
    return {"values": values, "indices": indices}
