"""Products by all names and ways that torch has: forbidden ones raise, and are remembered.

In processes of their own: what a trap replaces stays replaced.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WAYS = {
    "plain": "torch.mm(a, b)",
    "of rows stored as sparse": "torch.mm(a.to_sparse_csr(), b)",
    "of a sparse matrix": "torch.sparse.mm(a.to_sparse(), b)",
    "added to a sparse one": "torch.sspaddmm(empty.to_sparse(), a.to_sparse(), b).to_dense()",
    "half sparse": "torch.hspmm(a.to_sparse(), b).to_dense()",
    "where a mask is": "torch.sparse.sampled_addmm(full.to_sparse_csr(), a, b, beta=0).to_dense()",
    "solved for": "torch.linalg.solve(torch.linalg.inv(a), b)",
    "of another library":
        "torch.ops.mkldnn._linear_pointwise(a, b.t().contiguous(), None, 'none', [], '')",
    "of packed halves":
        "torch.ops.quantized.linear_dynamic_fp16("
        "a, torch.ops.quantized.linear_prepack_fp16(b.t().contiguous(), None))",
    "of distances": "torch.cdist(a, b, compute_mode='use_mm_for_euclid_dist')",
}  # fmt: skip
HONEST = {"a sum of products": "(a[:, :, None] * b).sum(1)", "a sort": "a.sort().values"}
TRIED = """
import sys, warnings
import torch
from bench.forbidden import FAMILIES
from bench.worker.worker import Trap
warnings.simplefilter("ignore")
torch.set_grad_enabled(False)
torch.manual_seed(1)
a, b, empty, full = torch.randn(8, 8), torch.randn(8, 8), torch.zeros(8, 8), torch.ones(8, 8)
trap = Trap(torch, FAMILIES["matmul"].aten if sys.argv[1] == "armed" else (), "CPU")
for way in sys.stdin.read().splitlines():
    trap.called = 0
    try:
        eval(way)
    except RuntimeError as error:
        print("raised", bool(trap.called), "is forbidden" in str(error))
    else:
        print("done", bool(trap.called))
"""


@lru_cache(maxsize=2)
def tried(how: str) -> dict[str, str]:
    """What came of each way, by its name."""
    ways = WAYS | HONEST
    done = subprocess.run(
        [sys.executable, "-c", TRIED, how],
        input="\n".join(ways.values()), capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    return dict(zip(ways, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_a_forbidden_product_raises_however_it_is_asked_for(way: str) -> None:
    assert tried("armed")[way] == "raised True True"


@pytest.mark.parametrize("way", [*WAYS, *HONEST])
def test_what_is_not_forbidden_is_done(way: str) -> None:
    assert tried("unarmed")[way] == "done False"


@pytest.mark.parametrize("way", HONEST)
def test_what_is_no_product_is_done_where_products_are_forbidden(way: str) -> None:
    assert tried("armed")[way] == "done False"
