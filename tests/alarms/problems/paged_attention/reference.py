import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, kv, block_table, lengths):
        out = torch.empty_like(q)
        for b in range(q.shape[0]):
            n = int(lengths[b])
            pages = block_table[b, : (n + 15) // 16].long()
            k, v = kv[pages].reshape(-1, 2, kv.shape[-2], kv.shape[-1])[:n].unbind(1)
            k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
            v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
            p = torch.softmax(torch.einsum("hd,nhd->hn", q[b], k) / math.sqrt(q.shape[-1]), -1)
            out[b] = torch.einsum("hn,nhd->hd", p, v)
        return out
