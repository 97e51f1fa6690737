"""What a worker hands to a solution: tensors of their own, wherever in the arena they lie.

In a process of its own: what torch.compile keeps stays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TOLD = """
import json, os, tempfile
import torch
from torch._dynamo.utils import counters
from bench.worker.worker import Worker, open_shared

torch.set_grad_enabled(False)
size = 1 << 20
arena = tempfile.TemporaryFile()
arena.truncate(size)
worker = Worker.__new__(Worker)
worker.torch, worker.shapes = torch, {}
worker.lend = open_shared(torch, {"fd": arena.fileno(), "bytes": size})
tensors = [
    {"dtype": "bfloat16", "shape": [8, 16], "offset": 1024, "bytes": 256},
    {"dtype": "int32", "shape": [8], "offset": 0, "bytes": 32},
    {"dtype": "float8_e4m3fn", "shape": [4, 4], "offset": 1536, "bytes": 16},
    {"dtype": "float32", "shape": [8, 16], "offset": 2048, "bytes": 512},
]
# Counted in elements, the first and the last tensor of the first slot begin at the same place.
slots = [0, 4096, 98304, 700416, 700416 + 4096]
worker.lay_out(3, {"slots": slots, "tensors": tensors})
larger = [
    {**one, "shape": [2 * one["shape"][0], *one["shape"][1:]], "bytes": 2 * one["bytes"]}
    for one in tensors
]
worker.lay_out(4, {"slots": slots, "tensors": larger})

def solve(x, rows, scales, y):
    y.copy_(x.float()[rows.long()] * 2)

compiled = torch.compile(solve, backend="aot_eager")
right = []
# Of a second shape is compiled what may have any size; then comes what lies where all begins.
for views in worker.shapes[3] + worker.shapes[4][1:] + worker.shapes[4][:1]:
    x, rows, scales, y = views
    x.copy_(torch.arange(x.numel()).view(x.shape) + len(right))
    rows.copy_(torch.arange(len(rows)).flip(0))
    compiled(*views)
    right.append(torch.equal(y, (x.float() * 2).flip(0)))
held = os.pread(arena.fileno(), 512, slots[1] + 2048)
print(json.dumps({
    "right": right,
    "compiled": counters["stats"]["unique_graphs"],
    "shown": torch.frombuffer(bytearray(held), dtype=torch.float32).view(8, 16)[:2, 0].tolist(),
    "views": [
        [one.storage_offset(), one.untyped_storage().nbytes(), one._base is None,
         one.is_contiguous(), str(one.dtype), list(one.shape)]
        for one in worker.shapes[3][3]
    ],
}))
"""


@cache
def told() -> Any:
    """What the process says of the tensors, and of a solution that torch.compile made."""
    done = subprocess.run(
        [sys.executable, "-c", TOLD], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_a_tensor_has_a_storage_of_its_own() -> None:
    assert told()["views"] == [
        [0, 256, True, True, "torch.bfloat16", [8, 16]],
        [0, 32, True, True, "torch.int32", [8]],
        [0, 16, True, True, "torch.float8_e4m3fn", [4, 4]],
        [0, 512, True, True, "torch.float32", [8, 16]],
    ]


def test_what_is_written_into_it_stands_in_the_arena() -> None:
    assert told()["shown"] == [490.0, 458.0]


def test_a_compiled_solution_is_compiled_once_a_shape_for_all_slots() -> None:
    assert told()["right"] == [True] * 10
    assert told()["compiled"] == 2
