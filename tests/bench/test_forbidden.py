"""Operations and kernels belong to the families that a problem forbids by name."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench.forbidden import (
    FAMILIES,
    STANDS_FOR,
    dispatched,
    families_of,
    family_of_code,
    family_of_kernel,
    forbidden_kernels,
    forbidden_operations,
    plain_name,
)


def test_a_name_loses_its_namespace_and_its_overload() -> None:
    spelled = ("aten::mm.out", "aten.mm.default", "mm", "aten::mm")
    assert [plain_name(name) for name in spelled] == ["mm"] * 4


class Trace(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The names of all operations that were dispatched."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


A = torch.ones(4, 4)
Q = torch.ones(1, 1, 4, 4)
F = torch.nn.functional
DONE: dict[str, list[Callable[[], object]]] = {
    "matmul": [
        lambda: A @ A, lambda: torch.einsum("ij,jk->ik", A, A), lambda: A.mv(A[0]),
        lambda: F.linear(A, A, A[0]), lambda: torch.bmm(A[None], A[None]),
        lambda: torch.mm(A, A, out=torch.empty(4, 4)), lambda: torch.dot(A[0], A[0]),
    ],
    "convolution": [
        lambda: F.conv3d(Q[None], Q[None]),
        lambda: F.conv1d(A[None], A[None]),
    ],
    "unfold": [lambda: F.unfold(Q, 2)],
    "attention": [lambda: F.scaled_dot_product_attention(Q, Q, Q)],
    "softmax": [lambda: A.softmax(0), lambda: A.log_softmax(0), lambda: A.logsumexp(0)],
    "sort": [lambda: A.topk(2), A.sort, A.argsort, lambda: A.kthvalue(2),
             A.msort],
    "normalisation": [lambda: F.layer_norm(A, (4,))],
    "scan": [lambda: A.cumsum(0)],
}  # fmt: skip


@pytest.mark.parametrize("family", DONE)
def test_the_dispatcher_sees_each_operation_of_a_family(family: str) -> None:
    for operation in DONE[family]:
        with Trace() as trace, torch.no_grad():
            operation()
        found = {named for _, named in forbidden_operations(trace.seen, [family])}
        assert found == {family}, trace.seen


def test_what_no_family_holds_is_never_forbidden() -> None:
    seen = [
        "aten.add.Tensor",
        "aten.copy_.default",
        "aten.unfold.default",
        "aten.embedding.default",
    ]
    assert not list(forbidden_operations(seen, FAMILIES))
    assert not list(forbidden_operations(["aten.mm.default"], ["softmax"]))
    assert families_of("aten::mm") == {"matmul"}


KERNELS = {
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT": "matmul",
    "cutlass_80_tensorop_s16816gemm_bf16_128x64": "matmul",
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8": "matmul",
    "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>": "sort",
    "void (anonymous namespace)::softmax_warp_forward<float, float>": "softmax",
    "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>": "attention",
    "_my_matmul_kernel": None,
    "triton_poi_fused_add_0": None,
    "vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": None,
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_library_s_kernel_is_known_by_its_name_and_an_own_one_is_not(kernel: str) -> None:
    assert family_of_kernel(kernel, FAMILIES) == KERNELS[kernel]
    found = list(forbidden_kernels([kernel], ["sort", "softmax"]))
    expected = KERNELS[kernel] in ("sort", "softmax")
    assert found == ([(kernel, KERNELS[kernel])] if expected else [])


def test_every_family_can_be_found_and_told() -> None:
    for name, family in FAMILIES.items():
        assert re.fullmatch(r"[a-z_]+", name)
        assert family.aten or family.kernels
        assert family.words
        for pattern in family.kernels:
            assert not re.search(pattern, "")
            assert not re.search(pattern, "_kernel")


def test_where_products_are_forbidden_convolutions_are_not_dispatched_either() -> None:
    assert dispatched(["softmax", "matmul"]) == ("softmax", "matmul", "convolution")
    assert dispatched(["convolution", "matmul"]) == ("convolution", "matmul")
    assert dispatched(["sort"]) == ("sort",)
    assert dispatched([]) == ()
    for family, others in STANDS_FOR.items():
        assert {family, *others} <= FAMILIES.keys()


TORCH = "libtorch_cpu.so"
NUMPY = "_multiarray_umath.cpython-311-x86_64-linux-gnu.so"


@pytest.mark.parametrize(
    ("file", "function"),
    [
        (TORCH, "mkl_blas_avx512_sgemm_kernel_0"),
        (TORCH, "mkl_blas_def_sgemm_scopy_down16_bdz"),
        (TORCH, "mkl_blas_def_xsdot"),
        (TORCH, "mkl_spblas_lp64_scsrmm"),
        (TORCH, "_ZN4dnnl4impl3cpu3x6429brgemm_kernel_execute_postopsEPKNS2_15brgemm_kernel_tE"),
        (TORCH, "_ZNK4dnnl4impl3cpu3x6435jit_avx512_common_convolution_fwd_tE15execute_forwardEv"),
        (TORCH, "_ZN2at6native7cpublas12_GLOBAL__N_117cpublas_gemm_implE"),
        (TORCH, "_ZN6fbgemm21cblas_gemm_i64_i64accENS_11matrix_op_tE"),
        ("libscipy_openblas64_-32a4b2a6.so", "inner_thread"),
        ("libmkl_avx512.so.2", "mkl_blas_avx512_xsgemm"),
        (NUMPY, "LONG_matmul"),
        (NUMPY, "float_sum_of_products_muladd"),
    ],
)
def test_code_that_libraries_make_products_with_is_known_by_its_name(
    file: str, function: str
) -> None:
    assert family_of_code(file, function, ["sort", "matmul"]) == "matmul"
    assert family_of_code(file, function, ["sort"]) is None


@pytest.mark.parametrize(
    ("file", "function"),
    [
        (TORCH, "mkl_blas_def_xsaxpy"),
        (TORCH, "mkl_blas_def_xscopy"),
        (TORCH, "mkl_vml_kernel_sExp_EXHAynn"),
        (TORCH, "mkl_dft_def_owns_cRadix4FwdNorm_32fc"),
        (TORCH, "_ZNK4dnnl4impl3cpu3x6421jit_uni_eltwise_fwd_tILNS4_9cpu_isa_tE7executeEv"),
        (TORCH, "_ZN6fbgemm14transpose_simdIfEEvjjPKT_jPS1_j"),
        (TORCH, "_ZN6fbgemm12QuantizeAvx2IaLb1EEEvPKfPT_lRKNS_24TensorQuantizationParamsE"),
        (TORCH, "_ZN2at6native12_GLOBAL__N_120vectorized_inner_sumIfEE"),
        (TORCH, None),
        ("libscipy_openblas64_-32a4b2a6.so", "blas_thread_server"),
        ("libscipy_openblas64_-32a4b2a6.so", None),
        ("libmkl_vml_avx512.so.2", "mkl_vml_kernel_sExp"),
        ("libgomp.so.1", "gomp_team_barrier_wait_end"),
        (NUMPY, "FLOAT_multiply_AVX512F"),
        (NUMPY, "npyv_sum_f32"),
    ],
)
def test_code_of_other_operations_is_no_product(file: str, function: str | None) -> None:
    assert family_of_code(file, function, ["matmul", "convolution"]) is None
