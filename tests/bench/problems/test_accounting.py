"""What the Hard deck counts: against figures worked out by hand, and on the hardware there is."""

from __future__ import annotations

import pytest

from bench.problems import Shape
from kbsite.model.hardware import Format, ceiling
from kbsite.model.problem import Regime
from kbsite.store.hardware import read_all_hardware
from tests.bench.problems.deck import IDS, ROOT, problem

HARDWARE = read_all_hardware(ROOT / "bench" / "hardware")

BY_HAND = {
    # 2 * 8192^3; 2 * 3 * 8192^2
    ("bf16_gemm", "square"): (1_099_511_627_776, 402_653_184),
    # 134217728 * 3 * 4
    ("vector_add", "large"): (0, 1_610_612_736),
    # 2 * 8192^3; 8192^2 * (1 + 1 + 2)
    ("fp8_gemm", "square"): (1_099_511_627_776, 268_435_456),
    # 512 * 128256 * 8
    ("kahan_softmax", "llama"): (0, 525_336_576),
    # 6 * 8192 * 40 * 128 * 128; 8192 * 40 * (4 * 2 * 128 + 4 * 128 + 2)
    ("kda_chunk", "long"): (32_212_254_720, 503_971_840),
    # 32768 * (4 * 40 * 128 + 12)
    ("mrope", "long"): (0, 671_481_856),
    # 64 * 2048 tokens of 32 heads * 128 * 4; * 8 heads * 128 * 4 bytes, 64 * 32 * 128 * 4 bytes
    # of queries and outputs, 8192 entries and 64 lengths of 4
    ("paged_attention", "batch"): (2_147_483_648, 537_952_512),
    # 8 * 8 * 48 * 48 patches of 3 * 2 * 14 * 14 = 1176; 2 * (147456 * (1176 + 1280) + 1280 * 1176)
    ("patch_embed", "video"): (443_925_135_360, 727_314_432),
    # 98304 rows * 2048 * 768 * 4; 2 * 98304 * (2048 + 768) + 128 * 2048 * 768 * 4 + 129 * 4
    ("sonic_moe_swiglu", "many"): (618_475_290_624, 1_358_955_012),
    # 8192 * (16384 * 4 + 32 * 12)
    ("topk_bitonic", "middle"): (0, 540_016_640),
    # 2 * 106496 * 16384; 106496 * (8192 + 128 * 4 + 2) + 32768
    ("w4a16_gemm", "single"): (3_489_660_928, 927_186_944),
}
"""Operations and bytes of one shape of each problem."""

SHAPES = [(name, shape) for name in IDS for shape in problem(name).shapes("cuda")]


@pytest.mark.parametrize("name", IDS)
def test_formulas_give_what_was_worked_out_by_hand(name: str) -> None:
    (named,) = [shape for problem_id, shape in BY_HAND if problem_id == name]
    (shape,) = [one for one in problem(name).shapes("cuda") if one.id == named]
    work = problem(name).work(shape)
    assert (sum(work.flops.values()), work.bytes) == BY_HAND[name, named]


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=str)
def test_the_regime_is_that_of_every_shape_and_long_enough_to_be_read(
    name: str, shape: Shape
) -> None:
    at_best = ceiling(HARDWARE["h200-sxm"], problem(name).work(shape))
    assert 0.1 <= at_best.ms <= 2
    regime = Regime.MEMORY if at_best.bound_by is None else Regime.COMPUTE
    assert regime is problem(name).problem.regime


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=str)
def test_the_regime_is_the_same_on_all_hardware_that_has_the_format(
    name: str, shape: Shape
) -> None:
    graded = problem(name)
    for key, hardware in HARDWARE.items():
        if any(number in hardware.lacks for number, _ in graded.work(shape).flops):
            continue
        at_best = ceiling(hardware, graded.work(shape))
        regime = Regime.MEMORY if at_best.bound_by is None else Regime.COMPUTE
        assert regime is graded.problem.regime, key


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=str)
def test_a_call_fits_in_memory_and_in_no_cache(name: str, shape: Shape) -> None:
    graded = problem(name)
    assert graded.bytes(shape) <= 2e9
    if graded.problem.regime is Regime.MEMORY:
        assert graded.work(shape).bytes >= 8 * 60e6


@pytest.mark.parametrize("name", IDS)
def test_a_call_on_a_cpu_takes_a_few_megabytes(name: str) -> None:
    assert len(problem(name).shapes("cpu")) == 3
    for shape in problem(name).shapes("cpu"):
        assert 2e5 < problem(name).bytes(shape) < 8e6


def test_every_expert_of_a_token_counts() -> None:
    graded = problem("sonic_moe_swiglu")
    shape = graded.shapes("cuda")[0]
    one = Shape("one", {**shape.sizes, "K": 1})
    work, of_one = graded.work(shape).flops, graded.work(one).flops
    assert {key: 8 * flops for key, flops in of_one.items()} == work


def test_products_of_fp8_are_held_against_the_peak_of_fp8() -> None:
    graded = problem("fp8_gemm")
    at_best = ceiling(HARDWARE["h200-sxm"], graded.work(graded.shapes("cuda")[0]))
    assert at_best.bound_by is Format.FP8
    assert at_best.ms == pytest.approx(1.0995 / 1979 * 1e3, rel=1e-3)
