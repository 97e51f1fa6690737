"""Attention of one query a sequence over paged keys and values: what a solution is held against."""

import torch

PAGE = 16

AT_ONCE = 2**26
"""Elements of keys that are gathered at a time, at least those of one sequence."""


def inputs(case, generator, *, B, H, G, D, L):
    """q (B, H * G, D), key_pages and value_pages (pages, 16, H, D), block_table and seq_lens.

    ordinary: lengths from L / 2 to 3 L / 2. skewed: half of the sequences are 31 times as long as
    the others, and one has a single token. sharp: few keys take nearly all of the weight. Entries
    of the table beyond a sequence's end are numbers of other pages; what its last page holds
    beyond its end is left over from somebody else, and large.
    """
    device = generator.device

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)

    lengths = _lengths(case, generator, B, L)
    used = (lengths + PAGE - 1) // PAGE
    first = used.cumsum(0) - used
    pages = B * (L // PAGE + 1)
    order = torch.randperm(pages, generator=generator, device=device)
    table = order[(first[:, None] + torch.arange(L // 8, device=device)) % pages]
    keys, values = normal(pages, PAGE, H, D), normal(pages, PAGE, H, D)
    last = order[first + used - 1]
    beyond = torch.arange(PAGE, device=device) >= (lengths - (used - 1) * PAGE)[:, None]
    for pool in (keys, values):
        pool[last] = torch.where(beyond[:, :, None, None], 32 * pool[last], pool[last])
    return {
        "q": normal(B, H * G, D) * (6 if case == "sharp" else 1),
        "key_pages": keys,
        "value_pages": values,
        "block_table": table.to(torch.int32),
        "seq_lens": lengths.to(torch.int32),
    }


def _lengths(case, generator, B, L):
    """Lengths (B,) that sum up to B * L: pairs of L + d and L - d, shuffled."""
    device = generator.device
    off = torch.randint(0, L // 2 + 1, (B // 2,), generator=generator, device=device)
    if case == "skewed":
        off[:] = L - L // 16
        off[:1] = L - 1
    middle = torch.full((B % 2,), L, device=device)
    lengths = torch.cat([L + off, L - off, middle])
    return lengths[torch.randperm(B, generator=generator, device=device)]


def reference(q, key_pages, value_pages, block_table, seq_lens, *, B, H, G, D, L):
    """out (B, H * G, D) in fp32."""
    out = torch.empty(B, H, G, D, device=q.device)
    query = q.view(B, H, G, D).float() * D**-0.5
    place = torch.arange(2 * L, device=q.device)
    for some in torch.arange(B, device=q.device).split(max(1, AT_ONCE // (2 * L * H * D))):
        pages = block_table[some].long()
        keys = key_pages[pages].flatten(1, 2).float()
        values = value_pages[pages].flatten(1, 2).float()
        scores = torch.einsum("bhgd,blhd->bhgl", query[some], keys)
        beyond = place >= seq_lens[some, None]
        weights = scores.masked_fill(beyond[:, None, None], -torch.inf).softmax(dim=3)
        out[some] = torch.einsum("bhgl,blhd->bhgd", weights, values)
    return {"out": out.view(B, H * G, D)}
