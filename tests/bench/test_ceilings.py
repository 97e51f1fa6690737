"""The least times of a shape, and what is said of fractions that are too good."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.anchors import Anchors
from bench.ceilings import ceilings
from bench.problems import GradedProblem, Shape
from kbsite.errors import InputError, MachineError
from kbsite.model.accounting import CPU_MARGIN
from kbsite.model.hardware import Hardware
from kbsite.model.problem import Problem
from kbsite.store.hardware import read_hardware

H200 = Path(__file__).parents[2] / "bench" / "hardware" / "h200-sxm.yaml"
SHAPE = Shape("square", {"M": 1024})


@pytest.fixture(scope="module")
def h200() -> Hardware:
    return read_hardware(H200)


def problem(**flops: str) -> GradedProblem:
    """A problem with work in M, `bytes` of it too."""
    traffic = flops.pop("bytes", None)
    stated = Problem(title="Toy", flops=flops, bytes=traffic)
    return GradedProblem("toy", Path("problems/toy"), stated, "0")


def anchors(bandwidth: float | None = 4300.0, **tflops: float) -> Anchors:
    streams = {"copy": bandwidth * 0.9, "triad": bandwidth} if bandwidth else {}
    made = datetime(2026, 1, 1, tzinfo=UTC)
    return Anchors(host={}, made=made, gb_per_second=streams, tflops=tflops)


def test_a_gpu_is_held_against_its_datasheet_and_its_floor_against_its_highest_clocks(
    h200: Hardware,
) -> None:
    found = ceilings(problem(bf16="M**4", bytes="M"), SHAPE, h200, anchors(bf16=800.0))

    assert found.bound_by == "bf16"
    assert found.ceiling_ms == pytest.approx(1024**4 / 989.5e9)
    assert found.floor_ms == pytest.approx(1024**4 / (132 * 1980 * 4096 * 1e3))
    assert found.achievable_ms == pytest.approx(1024**4 / 800e9)


def test_what_moves_much_is_bound_by_its_memory(h200: Hardware) -> None:
    found = ceilings(problem(bf16="M", bytes="M**3"), SHAPE, h200, anchors(bf16=800.0))

    assert found.bound_by == "dram"
    assert found.ceiling_ms == pytest.approx(1024**3 / 4800e6)
    assert found.floor_ms == pytest.approx(1024**3 / 4814e6)
    assert found.achievable_ms == pytest.approx(1024**3 / 4300e6)


@pytest.mark.parametrize(
    ("measured", "stated"),
    [
        (anchors(fp32=50.0), {"bf16": "M", "bytes": "M"}),
        (anchors(bandwidth=None, bf16=800.0), {"bf16": "M", "bytes": "M"}),
    ],
)
def test_what_was_not_measured_is_not_known(
    h200: Hardware, measured: Anchors, stated: dict[str, str]
) -> None:
    found = ceilings(problem(**stated), SHAPE, h200, measured)

    assert found.achievable_ms is None
    assert found.ceiling_ms > 0


def test_a_rate_that_is_not_needed_may_be_missing(h200: Hardware) -> None:
    found = ceilings(problem(bf16="0", bytes="M"), SHAPE, h200, anchors())
    assert found.achievable_ms == pytest.approx(1024 / 4300e6)
    found = ceilings(problem(bf16="M"), SHAPE, h200, anchors(None, bf16=800.0))
    assert found.achievable_ms == pytest.approx(1024 / 800e9)


def test_a_cpu_is_held_against_what_was_measured_on_it() -> None:
    measured = anchors(20.0, fp32=0.2, bf16=0.5)

    found = ceilings(problem(fp32="M**3", bytes="M"), SHAPE, None, measured)

    assert found.bound_by == "fp32"
    assert found.ceiling_ms == found.achievable_ms == pytest.approx(1024**3 / 0.2e9)
    assert found.floor_ms == pytest.approx(1024**3 / 0.5e9 / CPU_MARGIN)


def test_a_cpu_computes_what_it_has_no_units_for_in_the_format_it_is_fastest_in() -> None:
    measured = anchors(20.0, fp32=0.2, bf16=0.5)

    found = ceilings(problem(fp8="M**3", bytes="M"), SHAPE, None, measured)

    assert found.bound_by == "fp8"
    assert found.ceiling_ms == pytest.approx(1024**3 / 0.5e9)


@given(
    flops=st.integers(1, 10**6), traffic=st.integers(1, 10**6),
    bandwidth=st.floats(1, 1e3), rate=st.floats(0.01, 10),
)  # fmt: skip
def test_a_cpus_floor_lies_below_its_ceiling_by_no_less_than_the_margin(
    flops: int, traffic: int, bandwidth: float, rate: float
) -> None:
    stated = problem(fp32=f"M*{flops}", bytes=f"M*{traffic}")

    found = ceilings(stated, SHAPE, None, anchors(bandwidth, fp32=rate, fp64=rate / 2))

    assert found.floor_ms == pytest.approx(found.ceiling_ms / CPU_MARGIN)
    each = 1024 * flops / (rate * 1e9), 1024 * traffic / (bandwidth * 1e6)
    assert found.ceiling_ms == pytest.approx(max(each))


@pytest.mark.parametrize("measured", [anchors(None, fp32=1.0), anchors(20.0)])
def test_a_cpu_that_was_not_measured_has_no_ceiling(measured: Anchors) -> None:
    with pytest.raises(MachineError, match="kbsite bench calibrate"):
        ceilings(problem(fp32="M", bytes="M"), SHAPE, None, measured)


@pytest.mark.parametrize("stated", [{}, {"bytes": "0"}, {"bf16": "0", "bytes": "M - 1024"}])
def test_a_shape_without_work_has_no_ceiling(h200: Hardware, stated: dict[str, str]) -> None:
    for hardware in (h200, None):
        with pytest.raises(InputError, match=r"above 0 for square \(M=1024\)"):
            ceilings(problem(**stated), SHAPE, hardware, anchors(bf16=1.0))


def test_work_that_hardware_has_no_peak_for_is_the_problems_mistake(h200: Hardware) -> None:
    with pytest.raises(InputError, match=r"problem\.yaml: .*H200.*fp4"):
        ceilings(problem(fp4="M", bytes="M"), SHAPE, h200, anchors())
