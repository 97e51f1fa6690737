"""Operations that a problem can forbid: the closed list of their families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """Operations that do the same work, however they are spelled."""

    aten: tuple[str, ...]
    """Their names in torch's dispatcher, without overloads: "mm" stands for aten::mm.out too.

    None where torch has no such operation, and only other libraries have.
    """
    kernels: tuple[str, ...]
    """Patterns of the names that libraries' kernels for them bear in a profile."""
    words: str
    """What a statement calls them."""
    python: tuple[str, ...] = ()
    """Names within torch that are no names of the dispatcher's."""
    code: tuple[str, ...] = ()
    """Patterns of FILE:FUNCTION, where a processor stands while a library does it."""


_PRODUCTS = (
    # A library that is there for nothing else, but for threads that wait for work with open eyes.
    r"^(lib|_)[^:]*(blas|lapack|blis|atlas|armpl|dnnl)[^:]*:(?!blas_(thread|mem|sh)|(goto|open)blas).",
    # Of MKL within another one, all that is more than a line of one vector.
    r":mkl_(blas|spblas|sparse)_"
    r"(?!\w*?(swap|scal|copy|axpb?y|nrm2|asum|rotm?|am(ax|in)|find_idx)(_nonan)?$)",
    # fbgemm transposes and reads tables too, and says gemm in all its names.
    r":.*((?<!fb)gemm|gemv|matmul|inner_product_|gebp_|cpublas(?!.*(axpy|copy)))",
    r":.*(addmm_impl|int[48]pack_mm|dot_impl|dot_with_fp32_arith|_conv(olution)?_fwd|fbgemmPacked)",
    r":.*(fbgemm13ExecuteKernel|convolution.*execute_forward)",
    # numpy's own loops
    r"^_multiarray_umath[^:]*:.*(_dot$|sum_of_products)",
)
"""Of BLAS, oneDNN, fbgemm and numpy. A convolution is a product, however it is done."""

_BLAS = (r"^cublas", r"^cutlass_\d+_", r"^sm\d+_xmma_", r"^nvjet_", r"^(ampere|volta|turing)_",
         r"gemv|gemmk1|gemmSN", r"^Cijk_")  # fmt: skip

FAMILIES: Final[Mapping[str, Family]] = {
    "matmul": Family(
        ("mm", "bmm", "addmm", "baddbmm", "addbmm", "matmul", "linear", "addmv", "mv", "dot",
         "vdot", "einsum", "tensordot", "bilinear", "_trilinear", "chain_matmul",
         "linalg_multi_dot", "_addmm_activation", "_int_mm", "_weight_int4pack_mm",
         "_weight_int8pack_mm", "_sparse_semi_structured_mm", "_sparse_semi_structured_linear",
         "mkldnn_linear", "linalg_vecdot", "inner", "_cslt_sparse_mm", "sspaddmm", "hspmm",
         "_sparse_mm", "_sparse_addmm", "sparse_sampled_addmm", "_sparse_sparse_matmul",
         "_linalg_solve_ex", "linalg_lu_solve", "linalg_solve_triangular", "cholesky_solve"),
        _BLAS, "library matrix products (torch.matmul, mm, bmm, einsum, linear and the like)",
        code=_PRODUCTS),
    "scaled_matmul": Family(
        ("_scaled_mm", "_scaled_mm_v2"),
        _BLAS, "library matrix products with scales (torch._scaled_mm)", code=_PRODUCTS),
    "grouped_matmul": Family(
        ("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"),
        _BLAS, "library grouped matrix products (torch._grouped_mm)", code=_PRODUCTS),
    "convolution": Family(
        ("convolution", "_convolution", "convolution_overrideable", "cudnn_convolution",
         "miopen_convolution", "mkldnn_convolution", "conv1d", "conv2d", "conv3d", "slow_conv3d",
         "slow_conv3d_forward", "_slow_conv2d_forward", "thnn_conv2d", "conv_depthwise3d",
         "_conv_depthwise2d", "conv_tbc", "cudnn_convolution_relu", "_nnpack_spatial_convolution",
         "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "slow_conv_transpose2d",
         "slow_conv_transpose3d", "slow_conv_dilated2d", "slow_conv_dilated3d"),
        (r"^cudnn", r"implicit_(conv)?gemm", r"fprop", r"winograd", r"vol2col|im2col",
         r"conv(olution)?_?depthwise"),
        "library convolutions (torch.nn.functional.conv3d and the like)", code=_PRODUCTS),
    "unfold": Family(
        ("im2col", "col2im", "unfold_copy"),
        (r"im2col", r"vol2col"), "torch.nn.functional.unfold and fold",
        ("nn.functional.unfold", "nn.functional.fold")),
    "attention": Family(
        ("scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
         "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_cudnn_attention",
         "_scaled_dot_product_efficient_attention", "_scaled_dot_product_attention_math",
         "_scaled_dot_product_fused_attention_overrideable", "_flash_attention_forward",
         "_efficient_attention_forward", "_cudnn_attention_forward",
         "_native_multi_head_attention", "_triton_scaled_dot_attention",
         "_triton_multi_head_attention", "_transformer_encoder_layer_fwd"),
        (r"flash_fwd", r"fmha", r"pytorch_flash", r"BatchPrefill|BatchDecode|paged_attention",
         r"^cudnn_generated_fort_native_sdpa"),
        "library attention (scaled_dot_product_attention, flex_attention and the like)"),
    "softmax": Family(
        ("softmax", "_softmax", "log_softmax", "_log_softmax", "logsumexp", "_safe_softmax",
         "special_softmax", "special_log_softmax", "_masked_softmax", "_sparse_softmax",
         "logcumsumexp", "_logcumsumexp"),
        (r"softmax_warp_forward", r"cunn_SoftMaxForward", r"SoftMaxForward"),
        "library softmax (torch.softmax, log_softmax, logsumexp)"),
    "sort": Family(
        ("topk", "sort", "argsort", "kthvalue", "msort", "median", "nanmedian", "mode",
         "quantile", "nanquantile", "unique_dim", "_unique2", "unique_consecutive"),
        (r"RadixSort", r"MergeSort", r"^bitonicSort", r"gatherTopK", r"radixFindKthValues",
         r"DeviceSegmentedSort", r"gatherKthValue", r"bitonicSortKVInPlace"),
        "library sorting and selection (torch.topk, sort, argsort, kthvalue)"),
    "normalisation": Family(
        ("layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm", "group_norm",
         "native_group_norm", "batch_norm", "native_batch_norm", "cudnn_batch_norm"),
        (r"layer_norm_kernel", r"LayerNorm", r"RowwiseMoments", r"rms_norm"),
        "library normalisation (layer_norm, rms_norm and the like)"),
    "rotary": Family(
        (),
        (r"rotary", r"fused_rope"), "library rotary embeddings"),
    "scan": Family(
        ("cumsum", "cumprod", "cummax", "cummin", "_cummax_helper", "_cummin_helper"),
        (r"tensor_kernel_scan", r"DeviceScan"), "library scans (torch.cumsum and the like)"),
    "dequantise": Family(
        ("dequantize", "_weight_int4pack_mm", "_weight_int8pack_mm", "_weight_int4pack_mm_for_cpu",
         "_dyn_quant_matmul_4bit"),
        (r"[mM]arlin", r"machete", r"awq_|gptq_", r"tinygemm"),
        "library products with packed weights (torch._weight_int4pack_mm, Marlin and the like)"),
}  # fmt: skip
"""By the name that a problem.yaml forbids them under."""


def operations(forbidden: Iterable[str]) -> Iterator[str]:
    """What a problem forbids, operation by operation; what is no family stands for itself."""
    for name in forbidden:
        family = FAMILIES.get(name)
        if family is None:
            yield name
        else:
            yield from (f"torch.ops.aten.{operation}" for operation in family.aten)
            yield from (f"torch.{operation}" for operation in family.python)
