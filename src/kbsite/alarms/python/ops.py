"""Operations of array libraries: which family one belongs to, however it is spelled."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

FAMILIES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(words.split())
    for name, words in {
        "matmul": """matmul mm bmm addmm baddbmm addbmm einsum tensordot linear dot vdot mv addmv
            inner chain_matmul multi_dot bilinear _scaled_mm _scaled_grouped_mm _grouped_mm _int_mm
            _addmm_activation mkldnn_linear addr ger vecdot lazylinear linalg_matmul
            _scaled_mm_v2 _weight_int4pack_mm _weight_int8pack_mm _mixed_mm""",
        "convolution": """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
            convolution _convolution cudnn_convolution conv_tbc unfold fold""",
        "attention": """scaled_dot_product_attention multi_head_attention_forward flex_attention
            multiheadattention _scaled_dot_product_flash_attention
            _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
            _flash_attention_forward _efficient_attention_forward""",
        "softmax": "softmax log_softmax _softmax _log_softmax softmin logsumexp gumbel_softmax",
        "sort": "topk sort argsort kthvalue msort unique median quantile searchsorted",
        "normalisation": """layer_norm batch_norm group_norm instance_norm rms_norm normalize
            layernorm batchnorm1d batchnorm2d batchnorm3d groupnorm rmsnorm native_layer_norm
            native_group_norm native_batch_norm local_response_norm""",
        "recurrence": "lstm gru rnn rnn_tanh rnn_relu lstm_cell gru_cell",
        "transform": "fft ifft rfft irfft fft2 ifft2 fftn ifftn rfft2 irfft2 stft istft",
        "algebra": """svd eig eigh eigvals eigvalsh qr cholesky inverse inv solve lstsq lu det
            pinv matrix_exp matrix_power solve_triangular cholesky_solve""",
        "distance": "cdist pdist cosine_similarity pairwise_distance",
        "scan": "cumsum cumprod cummax cummin logcumsumexp",
        "pooling": """max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
            adaptive_avg_pool2d adaptive_max_pool2d interpolate grid_sample""",
        "loss": "cross_entropy nll_loss mse_loss l1_loss kl_div huber_loss smooth_l1_loss bce_loss",
        "embedding": "embedding embedding_bag",
    }.items()
}
"""Heavy operations, of which a library's is somebody else's kernel."""

FAMILY: Final = {op: family for family, ops in FAMILIES.items() for op in ops}

_LIGHT: Final = """
    add sub mul div sum mean prod max min amax amin exp log sqrt rsqrt sigmoid tanh relu gelu
    silu leaky_relu hardtanh clamp abs neg pow where var std norm maximum minimum cos sin round
    floor argmax argmin logical_and logical_or index_select gather scatter scatter_add index_add
    masked_fill roll flip tril triu cat stack repeat_interleave square reciprocal erf softplus
    elu mish hardswish dropout outer lerp addcmul addcdiv any all count_nonzero exp2 expm1 log2
    log10 log1p floor_divide remainder fmod isfinite isinf isnan absolute aminmax vector_norm
    std_mean var_mean trace diag nonzero bincount histc diff index_copy index_put masked_select
    masked_scatter take_along_dim gather_nd repeat tile logical_not eq ne lt le gt ge sign trunc
    ceil frac nan_to_num tan atan atan2 asin acos sinh cosh copy zero fill scatter_reduce"""
LIGHT: Final = frozenset(_LIGHT.split())

_PREFIXES: Final = (
    "torch.nn.functional.", "torch.ops.aten.", "torch.ops.prims.", "torch._C._VariableFunctions.",
    "torch._C._nn.", "torch._C._TensorBase.", "torch._C.TensorBase.", "torch._C._linalg.",
    "torch._C._special.", "torch.Tensor.", "torch.linalg.", "torch.special.", "torch.fft.",
    "torch.nn.modules.linear.", "torch._refs.nn.functional.", "torch._refs.", "torch.sparse.",
    "torch.nn.attention.flex_attention.", "torch._VF.", "torch.nn.", "torch.",
)  # fmt: skip
_OTHERS: Final = ("numpy.linalg.", "numpy.", "cupy.linalg.", "cupy.", "jax.numpy.", "jax.lax.",
                  "scipy.special.", "scipy.linalg.", "operator.")  # fmt: skip
_SHORT: Final = {"F.": "torch.nn.functional.", "nn.": "torch.nn.", "tl.": "triton.language.",
                 "Tensor.": "torch.Tensor.", "np.": "numpy."}  # fmt: skip
_OVERLOAD: Final = re.compile(
    r"\.(default|out|Tensor|Scalar|int|dim|self|Tensor_out|dtype|values)$"
)
_CAMEL: Final = re.compile(r"[A-Z]")


@lru_cache(maxsize=4_096)
def op(origin: str) -> str:
    """The operation that a call of an origin does, by its plain name; empty where it is none."""
    called = origin.removesuffix("()")
    if called != origin and not _CAMEL.match(called.rpartition(".")[2]):
        return ""  # what a call gives is called: only objects of classes, as nn.Linear(...), work
    called = called.removesuffix(".forward").removesuffix("()")
    method = called.rpartition(".")
    if "(" in method[0] or "[" in method[0] or called.startswith("?."):
        name = _plain(method[2]) if _of_tensor(method[0]) else ""
        return name if name in FAMILY or name in LIGHT else ""
    called = _OVERLOAD.sub("", called)
    for prefix in (*_PREFIXES, *_OTHERS):
        if called.startswith(prefix):
            rest = called.removeprefix(prefix)
            return _plain(rest) if "." not in rest else ""
    return ""


_VIEWS: Final = frozenset(
    """view reshape contiguous t transpose permute expand squeeze unsqueeze flatten to size stride
    numel dim clone detach float half is_contiguous new_empty new_zeros unbind split chunk data_ptr
    item tolist cpu cuda get type narrow select element_size append""".split()  # noqa: SIM905
)


def is_view(origin: str) -> bool:
    """Whether a method only looks at a tensor, or at its memory in another way."""
    return origin.rpartition(".")[2] in _VIEWS


def _plain(name: str) -> str:
    lowered = name.lower() if _CAMEL.match(name) else name
    if lowered in FAMILY or lowered in LIGHT:
        return lowered
    return lowered.rstrip("_") if not lowered.startswith("__") else lowered.strip("_")


def _of_tensor(owner: str) -> bool:
    """Whether a method of this may be one of a tensor."""
    if not owner.startswith(("torch.", "?", "local:")):
        return False
    return "cpp_extension" not in owner and not owner.startswith(("torch.cuda.", "torch.ops."))


def full(spelled: str) -> str:
    """A dotted name with its usual abbreviations written out."""
    for short, long in _SHORT.items():
        if spelled.startswith(short):
            return long + spelled.removeprefix(short)
    return spelled


def label_of(origin: str) -> str:
    """The label of what an operation of the framework makes; empty if it is none."""
    name = op(origin)
    if not name:
        return ""
    if name in _MAGNITUDES:
        return "op mag"
    family = FAMILY.get(name)
    return f"lib:{family}" if family else "op"


_MAGNITUDES: Final = frozenset(
    ("abs", "norm", "std", "var", "mean", "isfinite", "isinf", "isnan", "amax", "amin", "absolute",
     "aminmax", "std_mean", "var_mean", "vector_norm")
)  # fmt: skip
