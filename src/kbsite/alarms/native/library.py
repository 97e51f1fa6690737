"""Functions of libraries, as native code spells them: which operation one does."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from kbsite.alarms.python.ops import FAMILY, LIGHT


class LibraryCall(Struct, frozen=True):
    """What a name of a library does."""

    name: str
    op: str
    """The operation by its plain name, as `matmul`; empty where only the family is known."""
    family: str
    """Empty for an operation of the framework that is no heavy one."""


_SPACES: Final = frozenset(("at", "torch", "c10", "aten"))
_WRAPPERS: Final = frozenset(("redispatch", "call", "forward"))

_C_CALLS: Final = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"(?:cu|hip)blas(?:Lt|Xt)?\w*?[Gg]e(?:mm|mv)(?!\w*(?:Create|Desc|Algo))\w*$", "matmul"),
        (r"(?:cublas|hipblas)(?:Lt|Xt)Matmul$", "matmul"),
        (r"(?:cublas|hipblas)\w*(?:[Ss]y(?:mm|rk|mv)|[Tt]r(?:mm|mv)|[Dd]ot(?:Ex|c|u)?|[Gg]er)(?:_v2|_64)*$",
         "matmul"),
        (r"rocblas_\w*(?:gemm|gemv|dot|ger)\w*$", "matmul"),
        (r"cusparse\w*Sp(?:MM|MV|GEMM)(?:_compute)?$", "matmul"),
        (r"cutlass::gemm::device::\w+", "matmul"),
        (r"cutlass::conv::device::\w+", "convolution"),
        (r"cutlass::reduction::device::\w+", "reduction"),
        (r"cudnnConvolution(?:BiasActivation)?(?:Forward|Backward\w+)$", "convolution"),
        (r"miopenConvolution\w*Forward\w*$", "convolution"),
        (r"(?:cudnn|miopen)Softmax(?:Forward|Backward)\w*$", "softmax"),
        (r"(?:cudnn|miopen)(?:Batch|)Normalization(?:Forward|Backward)\w*$", "normalisation"),
        (r"cudnnMultiHeadAttn(?:Forward|Backward\w*)$", "attention"),
        (r"(?:cudnnRNN\w*Forward|miopenRNN\w*Forward)\w*$", "recurrence"),
        (r"(?:cudnnPooling|miopenPooling)(?:Forward|Backward)$", "pooling"),
        (r"cudnnReduceTensor$", "reduction"),
        (r"cudnnBackendExecute$|cudnn_frontend::\w+", "matmul"),
        (r"(?:cufft|hipfft)Exec\w+$", "transform"),
        (r"cusolver(?:Dn|Sp)?\w*(?:get|or|ge|sy|po)\w+$", "algebra"),
        (r"thrust::(?:stable_)?sort(?:_by_key)?$", "sort"),
        (r"thrust::(?:transform_)?reduce\w*$|thrust::inner_product$", "reduction"),
        (r"thrust::(?:transform_)?(?:inclusive|exclusive)_scan\w*$", "scan"),
        (r"(?:hip)?cub::Device(?:Segmented)?(?:RadixSort|MergeSort|Sort|TopK)\b.*", "sort"),
        (r"(?:hip)?cub::Device(?:Segmented)?Reduce\b.*", "reduction"),
        (r"(?:hip)?cub::Device(?:Segmented)?Scan\b.*", "scan"),
        (r"nccl(?:AllReduce|ReduceScatter|AllGather|Broadcast|Reduce)$", "collective"),
    )
)  # fmt: skip

_LIBRARIES: Final = (
    "cublas", "hipblas", "rocblas", "cusparse", "cutlass::", "cudnn", "miopen", "cufft", "hipfft",
    "cusolver", "thrust::", "cub::", "hipcub::", "nccl",
)  # fmt: skip

_OWN_METHODS: Final = frozenset(("fold", "dot", "unique", "qr", "solve", "det", "inverse", "inner"))
"""Names that classes other than tensors have too."""


def library_call(name: str) -> LibraryCall | None:
    """What a qualified name does; None if it is of no library, or does no work."""
    if name.startswith(_LIBRARIES):
        for pattern, family in _C_CALLS:
            if pattern.match(name):
                return LibraryCall(name, "", family)
        return None
    first, _, rest = name.partition("::")
    if first not in _SPACES or not rest:
        return None
    for part in reversed(rest.split("::")):
        plain = _plain(part)
        if plain in FAMILY:
            return LibraryCall(name, plain, FAMILY[plain])
        if plain in LIGHT:
            return LibraryCall(name, plain, "")
        if part not in _WRAPPERS and "blas" not in rest:
            return None
    return None


def blas_call(name: str) -> LibraryCall | None:
    """What the framework's own spellings of vendors' libraries do: `at::cuda::blas::gemm`."""
    if "blas::" in name and name.rpartition("::")[2].startswith(("gemm", "bgemm", "gemv", "dot")):
        return LibraryCall(name, "matmul", "matmul")
    return None


def method_call(name: str) -> LibraryCall | None:
    """What a method of a tensor does; None if it is no heavy one."""
    plain = "" if ":" in name else _plain(name)
    if plain in FAMILY and name not in _OWN_METHODS:
        return LibraryCall(f".{name}", plain, FAMILY[plain])
    return None


def named_op(text: str) -> LibraryCall | None:
    """What a text names to the framework's dispatcher: `aten::mm`."""
    found = re.match(r"\s*(?:aten|prims)::(\w+)", text)
    if found is None:
        return None
    plain = _plain(found[1])
    return LibraryCall(text, plain, FAMILY.get(plain, "")) if plain in FAMILY else None


def _plain(name: str) -> str:
    lowered = name.lower() if name[:1].isupper() else name
    if lowered in FAMILY or lowered in LIGHT:
        return lowered
    for end in ("_cuda", "_cpu", "_outf", "_out", "_symint", "_"):
        lowered = lowered.removesuffix(end)
    return lowered if lowered in FAMILY or lowered in LIGHT else lowered.lstrip("_")
