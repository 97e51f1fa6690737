"""Inputs of the Hard deck: secret, the same for the same seed, and what the statement says."""

from __future__ import annotations

import pytest
import torch

from tests.bench.problems.deck import IDS, SEED, Tensors, expected, inputs, least, problem, smallest

CASES = [(name, case) for name in IDS for case in problem(name).problem.cases]


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def _drawn(name: str, case: str) -> Tensors:
    return inputs(name, case, smallest(name))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_same_seed_draws_the_same_and_another_draws_all_tensors_anew(
    name: str, case: str
) -> None:
    shape = smallest(name)
    first, other = _drawn(name, case), inputs(name, case, shape, SEED + 1)
    again = problem(name).oracle().inputs(case, torch.Generator().manual_seed(SEED), shape)
    for key, value in first.items():
        assert torch.equal(_bits(value), _bits(again[key])), key
        assert not torch.equal(_bits(value), _bits(other[key])), key


@pytest.mark.parametrize(("name", "case"), CASES)
def test_inputs_and_results_are_finite_and_results_are_not_all_alike(name: str, case: str) -> None:
    for key, value in _drawn(name, case).items():
        assert bool(value.float().isfinite().all()), key
    for key, value in expected(name, case, smallest(name)).items():
        assert bool(value.double().isfinite().all()), key
        assert float(value.double().std()) > 1e-3 * float(value.double().abs().mean()), key


@pytest.mark.parametrize("name", IDS)
def test_the_least_sizes_have_inputs_and_results(name: str) -> None:
    shape = least(name)
    for case in problem(name).problem.cases:
        for key, value in expected(name, case, shape).items():
            assert tuple(value.shape) == problem(name).sizes(key, shape)


@pytest.mark.parametrize("shape", problem("paged_attention").shapes("cpu"), ids=str)
@pytest.mark.parametrize("case", problem("paged_attention").problem.cases)
def test_sequences_have_pages_of_their_own_and_one_total_length(case: str, shape: object) -> None:
    at = next(one for one in problem("paged_attention").shapes("cpu") if one == shape)
    drawn = inputs("paged_attention", case, at)
    lengths = drawn["seq_lens"].tolist()
    assert sum(lengths) == at.sizes["B"] * at.sizes["L"]
    assert all(1 <= length < 2 * at.sizes["L"] for length in lengths)
    table = drawn["block_table"].tolist()
    used = [page for row, n in zip(table, lengths, strict=True) for page in row[: -(-n // 16)]]
    assert len(used) == len(set(used))
    assert max(max(row) for row in table) < len(drawn["key_pages"])
    assert min(min(row) for row in table) >= 0


def test_skewed_sequences_differ_in_length_and_a_pages_rest_is_large() -> None:
    shape = problem("paged_attention").shapes("cpu")[0]
    lengths = inputs("paged_attention", "skewed", shape)["seq_lens"]
    assert int(lengths.min()) == 1
    assert int(lengths.max()) == 2 * shape.sizes["L"] - 1
    drawn = inputs("paged_attention", "ordinary", shape)
    sequence = int((drawn["seq_lens"] % 16 != 0).byte().argmax())
    length = int(drawn["seq_lens"][sequence])
    page = drawn["key_pages"][int(drawn["block_table"][sequence, length // 16])].float()
    assert float(page[length % 16 :].std()) > 10 * float(page[: length % 16].std())


@pytest.mark.parametrize("case", problem("sonic_moe_swiglu").problem.cases)
def test_experts_share_all_rows_and_skewed_ones_leave_some_without(case: str) -> None:
    shape = problem("sonic_moe_swiglu").shapes("cpu")[0]
    counts = inputs("sonic_moe_swiglu", case, shape)["expert_offsets"].diff()
    assert int(counts.sum()) == shape.sizes["T"] * shape.sizes["K"]
    assert int(counts.min()) >= 0
    assert (int(counts.min()) == 0) is (case == "skewed")


def test_nearly_all_terms_of_a_buried_row_are_below_half_a_unit_in_the_last_place() -> None:
    x = _drawn("kahan_softmax", "buried")["x"]
    terms = (x.double() - x.double().amax(1, keepdim=True)).exp()
    assert (terms == 1).sum(1).tolist() == [1] * len(x)
    assert bool((terms.argmax(1) < 32).all())
    assert float(terms[terms < 1].max()) < 2.0**-24 * 1.001
    tiny = terms.sum(1) - 1
    assert bool((tiny > 1e-3).all())


def test_the_largest_of_a_clustered_row_stand_beside_each_other() -> None:
    shape = problem("topk_bitonic").shapes("cpu")[0]
    indices = expected("topk_bitonic", "clustered", shape)["indices"]
    spread = indices.amax(1) - indices.amin(1)
    assert int(spread.max()) < 2 * shape.sizes["K"]


def test_ties_are_ties_and_hold_no_negative_zero() -> None:
    x = _drawn("topk_bitonic", "ties")["x"]
    assert len({*x.flatten().tolist()}) < 150
    assert not bool(x[x == 0].signbit().any())


def test_keys_are_of_length_one_and_decays_within_what_the_statement_says() -> None:
    for case in problem("kda_chunk").problem.cases:
        drawn = _drawn("kda_chunk", case)
        lengths = drawn["k"].float().norm(dim=3)
        assert float((lengths - 1).abs().max()) < 0.01
        assert -5 <= float(drawn["g"].min()) < float(drawn["g"].max()) <= 0
        assert 0 <= float(drawn["beta"].min()) < float(drawn["beta"].max()) <= 1


def test_positions_lie_in_the_tables_and_differ_between_axes() -> None:
    shape = problem("mrope").shapes("cpu")[2]
    for case in problem("mrope").problem.cases:
        positions = inputs("mrope", case, shape)["positions"]
        assert int(positions.min()) >= 0
        assert int(positions.max()) < shape.sizes["P"]
        assert not torch.equal(positions[0], positions[1])
        assert not torch.equal(positions[1], positions[2])
    text = inputs("mrope", "ordinary", shape)["positions"][:, :, : shape.sizes["T"] // 4]
    assert torch.equal(text[0], text[1])
    assert torch.equal(text[0], text[2])


def test_zeros_of_the_weights_are_whole_numbers_of_four_bits() -> None:
    for case in problem("w4a16_gemm").problem.cases:
        zeros = _drawn("w4a16_gemm", case)["zeros"].float()
        assert torch.equal(zeros, zeros.round())
        assert 0 <= float(zeros.min()) < float(zeros.max()) <= 15
