"""References of the Hard deck agree with formulations that share nothing with them."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.bench.problems.deck import Tensors, expected, inputs, problem, smallest

Array = NDArray[np.float64]
Plain = Callable[[dict[str, Array], dict[str, int]], dict[str, Array]]


def _gemm(at: dict[str, Array], _: dict[str, int]) -> dict[str, Array]:
    return {"y": np.einsum("mk,nk->mn", at["x"], at["w"], optimize=True)}


def _vector_add(at: dict[str, Array], _: dict[str, int]) -> dict[str, Array]:
    return {"z": at["x"] + at["y"]}


def _kahan_softmax(at: dict[str, Array], _: dict[str, int]) -> dict[str, Array]:
    y = np.empty_like(at["x"])
    for row, x in enumerate(at["x"]):
        terms = np.exp(x - x.max())
        y[row] = terms / fsum(terms)
    return {"y": y}


def _kda_chunk(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    """Token by token, as the statement has it."""
    o = np.empty_like(at["v"])
    for sequence in range(sizes["B"]):
        for head in range(sizes["H"]):
            state = np.zeros((sizes["K"], sizes["V"]))
            for token in range(sizes["T"]):
                q, k, v, g, beta = (
                    at[name][sequence, token, head] for name in ("q", "k", "v", "g", "beta")
                )
                state = np.exp(g)[:, None] * state
                state = state + beta * np.outer(k, v - k @ state)
                o[sequence, token, head] = q @ state / np.sqrt(sizes["K"])
    return {"o": o}


def _mrope(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    """As products of complex numbers."""
    half = sizes["D"] // 2
    parts = (half // 4, 3 * half // 8, 3 * half // 8)
    axis = np.repeat(np.arange(3), parts)
    where = at["positions"].astype(int)[axis].transpose(1, 2, 0)
    turn = at["cos"][where, np.arange(half)] + 1j * at["sin"][where, np.arange(half)]
    found = {}
    for name in ("q", "k"):
        x = at[name][..., :half] + 1j * at[name][..., half:]
        turned = x * turn[:, :, None]
        both = np.concatenate([turned.real, turned.imag], axis=3)
        found[f"{name}_out"] = both.transpose(0, 2, 1, 3)
    return found


def _paged_attention(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    """Each sequence's tokens are looked up one by one."""
    out = np.empty_like(at["q"])
    for sequence, length in enumerate(at["seq_lens"].astype(int)):
        table = at["block_table"][sequence].astype(int)
        keys = np.stack([at["key_pages"][table[t // 16], t % 16] for t in range(length)])
        values = np.stack([at["value_pages"][table[t // 16], t % 16] for t in range(length)])
        for head in range(sizes["H"] * sizes["G"]):
            shared = head // sizes["G"]
            scores = keys[:, shared] @ at["q"][sequence, head] / np.sqrt(sizes["D"])
            weights = np.exp(scores - scores.max())
            out[sequence, head] = weights / weights.sum() @ values[:, shared]
    return {"out": out}


def _patch_embed(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    x, weight = torch.from_numpy(at["x"]), torch.from_numpy(at["weight"])
    stride = (sizes["F"], sizes["S"], sizes["S"])
    return {"y": torch.nn.functional.conv3d(x, weight, stride=stride).numpy()}


def _sonic_moe_swiglu(at: dict[str, Array], _: dict[str, int]) -> dict[str, Array]:
    """Row by row: each looks up the expert that it belongs to."""
    offsets = at["expert_offsets"].astype(int)
    rows = []
    for row, x in enumerate(at["x"]):
        expert = int(np.searchsorted(offsets, row, side="right")) - 1
        gate, up = x @ at["w_gate"][expert], x @ at["w_up"][expert]
        rows.append(gate / (1 + np.exp(-gate)) * up)
    return {"out": np.stack(rows)}


def _topk_bitonic(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    return {"values": -np.sort(-at["x"], axis=1)[:, : sizes["K"]]}


def _w4a16_gemm(at: dict[str, Array], sizes: dict[str, int]) -> dict[str, Array]:
    """Row by row of the weights."""
    y = np.zeros((sizes["M"], sizes["N"]))
    for k in range(sizes["K"]):
        four = at["packed"][k // 2].astype(int) >> 4 * (k % 2) & 15
        weight = (four - at["zeros"][k // 128]) * at["scales"][k // 128]
        y += np.outer(at["x"][:, k], weight)
    return {"y": y}


PLAIN: dict[str, tuple[Plain, float]] = {
    "bf16_gemm": (_gemm, 1e-5),
    "fp8_gemm": (_gemm, 1e-5),
    "kahan_softmax": (_kahan_softmax, 1e-10),
    "kda_chunk": (_kda_chunk, 1e-6),
    "mrope": (_mrope, 1e-6),
    "paged_attention": (_paged_attention, 1e-5),
    "patch_embed": (_patch_embed, 1e-5),
    "sonic_moe_swiglu": (_sonic_moe_swiglu, 1e-5),
    "topk_bitonic": (_topk_bitonic, 0.0),
    "vector_add": (_vector_add, 0.0),
    "w4a16_gemm": (_w4a16_gemm, 1e-5),
}
"""A plain formulation of each problem, and by how much of its RMS the reference may differ."""


def _wide(tensors: Tensors) -> dict[str, Array]:
    return {name: value.double().numpy() for name, value in tensors.items()}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in PLAIN for case in problem(name).problem.cases]
)
def test_the_reference_is_what_the_statement_says(name: str, case: str) -> None:
    plain, allowed = PLAIN[name]
    shape = smallest(name)
    found = plain(_wide(inputs(name, case, shape)), dict(shape.sizes))
    for key, right in found.items():
        got = expected(name, case, shape)[key].double().numpy()
        rms = float(np.sqrt(np.mean(right**2)))
        assert float(np.abs(got - right).max()) <= allowed * rms


def test_indices_point_at_the_values() -> None:
    shape = smallest("topk_bitonic")
    for case in problem("topk_bitonic").problem.cases:
        x, right = inputs("topk_bitonic", case, shape)["x"], expected("topk_bitonic", case, shape)
        assert torch.equal(x.gather(1, right["indices"]), right["values"])
        ordered = right["indices"].sort(dim=1).values
        assert bool((ordered.diff(dim=1) > 0).all())


def test_every_problem_of_the_deck_has_a_plain_formulation() -> None:
    folders = {one.name for one in problem("mrope").folder.parent.iterdir() if one.name != "add"}
    assert {*PLAIN} == folders
