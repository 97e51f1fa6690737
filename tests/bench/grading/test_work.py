"""What counters have to show, and what they cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.devices.device import Counted
from bench.grading.work import ACTIVE_AT_LEAST, READ_AT_LEAST, dram_proof, tensor_proof
from bench.records import read_yaml
from kbsite.model.hardware import Format, Hardware, Work, physics_floor

H200 = read_yaml(Path(__file__).parents[3] / "bench/hardware/h200-sxm.yaml", Hardware)
MB = 1e6
MOVES = Work({}, 100 * MB)
FP8_GEMM = Work({(Format.FP8, None): 2 * 8192**3}, 300 * MB)


def counted(**changed: float) -> Counted:
    return replace(Counted(seconds=1e-3, dram_bytes=100 * MB, tensor=0.9), **changed)


def floor_seconds(work: Work) -> float:
    return physics_floor(H200, work).compute_ms / 1e3


def test_a_call_that_moves_what_it_has_to_passes() -> None:
    proof = dram_proof(MOVES, counted(), kept_bytes=0)
    assert proof.available
    assert proof.passed
    assert "100.0 MB" in proof.detail


def test_a_call_that_moves_less_does_not() -> None:
    assert dram_proof(MOVES, counted(dram_bytes=89 * MB), kept_bytes=0).passed is False


def test_what_a_cache_may_have_kept_is_not_asked_for() -> None:
    assert dram_proof(MOVES, counted(dram_bytes=70 * MB), kept_bytes=20 * MB).passed
    assert dram_proof(MOVES, counted(dram_bytes=69 * MB), kept_bytes=20 * MB).passed is False


def test_nothing_is_said_where_caches_may_keep_nearly_all() -> None:
    proof = dram_proof(MOVES, counted(dram_bytes=0), kept_bytes=60 * MB)
    assert not proof.available
    assert proof.passed is None


@given(st.floats(READ_AT_LEAST, 50))
def test_to_move_more_than_needed_is_no_fault(times: float) -> None:
    assert dram_proof(MOVES, counted(dram_bytes=times * 100.001 * MB), kept_bytes=0).passed


def test_work_without_products_needs_no_tensor_cores() -> None:
    assert tensor_proof(MOVES, counted(tensor=0), H200) is None
    plain = Work({(Format.FP32, None): 1e9}, 1)
    assert tensor_proof(plain, counted(tensor=0), H200) is None


def test_a_fast_product_with_tensor_cores_idle_did_not_do_it() -> None:
    proof = tensor_proof(FP8_GEMM, counted(tensor=0.05), H200)
    assert proof is not None
    assert proof.passed is False
    assert "5.0%" in proof.detail


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 1.0])
def test_a_product_that_shows_as_much_as_it_takes_passes(share: float) -> None:
    seconds = floor_seconds(FP8_GEMM) / share
    proof = tensor_proof(FP8_GEMM, counted(seconds=seconds, tensor=share), H200)
    assert proof is not None
    assert proof.passed


def test_half_of_the_activity_is_left_to_algorithms_with_fewer_operations() -> None:
    seconds = floor_seconds(FP8_GEMM)
    enough = tensor_proof(FP8_GEMM, counted(seconds=seconds, tensor=ACTIVE_AT_LEAST + 0.01), H200)
    short = tensor_proof(FP8_GEMM, counted(seconds=seconds, tensor=ACTIVE_AT_LEAST - 0.01), H200)
    assert enough is not None
    assert short is not None
    assert (enough.passed, short.passed) == (True, False)


def test_a_product_slow_enough_for_other_units_proves_nothing() -> None:
    proof = tensor_proof(FP8_GEMM, counted(seconds=0.1, tensor=0.0), H200)
    assert proof is not None
    assert proof.passed
    assert "slow enough" in proof.detail


def test_hardware_whose_rates_nobody_knows_proves_nothing() -> None:
    unknown = replace(H200, peaks=())
    assert tensor_proof(FP8_GEMM, counted(tensor=0.0), unknown) is None
