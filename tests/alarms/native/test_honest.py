"""Honest native code raises nothing above a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.alarms.native import NativeSources
from tests.alarms.native.seen import alarms, evidence, stored_problem, told

HONEST = {path.stem: path for path in sorted((Path(__file__).parent / "honest").glob("*.cu"))}


@pytest.mark.parametrize("name", HONEST)
def test_honest_sources_raise_nothing_above_a_note(name: str) -> None:
    for problem in (None, stored_problem("Scale of a vector", reference="y = x * 2 + 1")):
        found = alarms(HONEST[name].read_text("utf-8"), problem)

        assert not told(found), [one for one in found if one.level.value != "note"]


@pytest.mark.parametrize("family", ["softmax", "attention", "matmul", "sort", "rotary"])
def test_an_own_kernel_may_be_named_as_what_is_forbidden(family: str) -> None:
    source = f"""
    __global__ void {family}_kernel(const float* x, float* y) {{
        int i = blockIdx.x * 256 + threadIdx.x;
        y[i] = expf(x[i]) * 2.0f;
    }}
    void {family}_forward(const float* x, float* y) {{ {family}_kernel<<<64, 256>>>(x, y); }}
    void solve(const float* x, float* y) {{ {family}_forward(x, y); }}
    """
    assert not told(alarms(source, stored_problem("A problem", forbidden=[family])))


@pytest.mark.parametrize("name", HONEST)
def test_honest_sources_raise_nothing_within_python_either(name: str) -> None:
    source = HONEST[name].read_text("utf-8")
    python = f"import torch\nSRC = r'''{source}'''\next = load_inline('x', '', SRC)\n"

    assert not told(alarms(python, name="solution.py"))


def test_fp32_by_three_products_of_tf32_is_a_note() -> None:
    source = """
    __global__ void gemm(const float* a, float* d) {
        float big, small;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(hi_bits) : "f"(a[0]));
        float a_hi = __uint_as_float(hi_bits);
        float a_lo = a[0] - a_hi;
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%1}, {%2}, {%3};"
                     :: "f"(a_lo));
    }
    """
    found = alarms(source, stored_problem("FP32 GEMM"))

    assert [(one.kind, one.level.value) for one in found] == [("precision-downcast", "note")]


def test_the_products_that_a_problem_names_are_right() -> None:
    half = 'asm("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, p, 1, 1;");'
    eight = 'asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0}, {%1}, {%2}, {%3};");'
    body = "__global__ void k(const float* x, float* y) { %s y[0] = x[0] * 2.f; }"

    assert not alarms(body % half, stored_problem("BF16 GEMM"))
    assert not alarms(body % eight, stored_problem("FP8 GEMM"))
    assert not alarms(body % half, stored_problem("W4A16 GEMM, bf16"))


def test_a_run_without_native_code_raises_nothing() -> None:
    assert not alarms("import torch\nprint('hello')\n", name="solution.py")
    assert not list(NativeSources().alarms(evidence({})))


def test_there_are_enough_honest_sources() -> None:
    assert len(HONEST) >= 18
