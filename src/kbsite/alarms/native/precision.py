"""Rules on precision: what is computed in fewer bits than the problem's, or in the wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from kbsite.alarms.kinds import shown
from kbsite.alarms.native.solution import Solution
from kbsite.alarms.native.task import BITS
from kbsite.alarms.native.tokens import Kind
from kbsite.alarms.native.unit import Unit
from kbsite.model.alarm import Alarm, Level


class Use(Struct, frozen=True):
    """A precision that a source computes in or converts to."""

    precision: str
    at: int
    name: str
    """As it is written."""
    is_product: bool
    """Whether it is that of a matrix product."""


_PRODUCT: Final = re.compile(r"\b(?:wg)?mma(?:_async)?\.|\btcgen05\.mma\b|\bwmma\.mma\b")
_KINDS: Final[Mapping[str, str]] = {
    "tf32": "tf32", "f16": "fp16", "bf16": "bf16", "e4m3": "fp8", "e5m2": "fp8", "f8f6f4": "fp8",
    "e2m1": "fp4", "mxf4": "fp4", "mxf4nvf4": "fp4", "s8": "int8", "u8": "int8", "i8": "int8",
    "s4": "int4", "u4": "int4", "f64": "fp64",
}  # fmt: skip
_PIECES: Final = re.compile(r"[.:]+")

_CONVERTS: Final = tuple(
    (re.compile(pattern), precision)
    for pattern, precision in (
        (r"__(?:float|double|floats|float2)2?_?(?:to_)?2?half\w*$|__floats2half2_rn$|__float22half2_rn$",
         "fp16"),
        (r"__(?:float|floats|float2|double)2?2?bfloat16\w*$|__floats2bfloat162_rn$", "bf16"),
        (r"__nv_cvt_(?:float|double|halfraw|bfloat16raw)\w*_to_fp8\w*$", "fp8"),
        (r"__nv_cvt_(?:float|double)\w*_to_fp4\w*$", "fp4"),
        (r"(?:nvcuda::)?wmma::__float_to_tf32$|__float_to_tf32$|(?:cutlass::)?tfloat32_t$", "tf32"),
        (r"(?:torch|at)::(?:kHalf|kFloat16)$|(?:c10|at|torch)::ScalarType::Half$", "fp16"),
        (r"(?:torch|at)::kBFloat16$|(?:c10|at|torch)::ScalarType::BFloat16$", "bf16"),
        (r"(?:torch|at)::kFloat8_\w+$|(?:c10|at|torch)::ScalarType::Float8\w+$", "fp8"),
        (r"(?:CUDA|HIP)_R_16F$|CUBLAS_COMPUTE_(?:16F|32F_FAST_16F)\w*$", "fp16"),
        (r"(?:CUDA|HIP)_R_16BF$|CUBLAS_COMPUTE_32F_FAST_16BF$", "bf16"),
        (r"(?:CUDA|HIP)_R_8F_E\w+$", "fp8"),
        (r"CUBLAS_COMPUTE_32F_FAST_TF32$|CUBLAS_TF32_TENSOR_OP_MATH$", "tf32"),
    )
)  # fmt: skip
_ANY: Final = re.compile("|".join(pattern.pattern for pattern, _ in _CONVERTS))
_SPLIT: Final = re.compile(
    r"(?:^|_)(?:hi|lo|high|low|big|small|head|tail|resid\w*|corr\w*|err|delta)"
    r"(?:\d|_|$)",
    re.I,
)
_FP8: Final = re.compile(r"e4m3|e5m2|fp8|float8", re.I)
_SM: Final = re.compile(r"arch::Sm(\d{2,3})$")


def find(held: Unit, solution: Solution) -> Iterator[Alarm]:
    """What a source computes in less than the problem's precision."""
    uses = sorted(_uses(held), key=lambda one: one.at)
    task = solution.task
    if task.precisions:
        yield from _lower(held, uses, min(BITS[one] for one in task.precisions))
        if "fp8" in task.named:
            yield from _dressed(held, uses, solution)


def _lower(held: Unit, uses: list[Use], least: int) -> Iterator[Alarm]:
    below = [use for use in uses if BITS[use.precision] < least and _is_of_data(use)]
    if not below:
        return
    product = next((use for use in below if use.is_product), below[0])
    bits = f"{product.precision}, where the problem has at least {least} bits"
    if _is_split(held):
        saw = f"{shown(product.name)} is {bits}, in what looks like a split that makes up for it."
        yield held.alarm("precision-downcast", Level.NOTE, saw, product.at)
    else:
        saw = f"{shown(product.name)} is {bits}."
        level = Level.ALARM if product.is_product and product.precision != "tf32" else Level.WARNING
        yield held.alarm("precision-downcast", level, saw, product.at)


def _is_of_data(use: Use) -> bool:
    """Whether numbers are computed with it, not only counted or packed."""
    return use.precision not in ("int8", "int4") or use.is_product


def _is_split(held: Unit) -> bool:
    """Whether values are split in a rounded part and what is left, and both are used."""
    parts = {name for name in held.names if _SPLIT.search(name)}
    if len(parts) < 2:
        return False
    return any(
        text == "-" and held.before(at) not in ("=", "(", ",")
        and held.tokens[at - 1][0] in (Kind.NAME, Kind.SIGN)
        and any(word in parts for _, word, _ in held.tokens[max(0, at - 12) : at + 12])
        for at, (_, text, _) in enumerate(held.tokens)
    )  # fmt: skip


def _dressed(held: Unit, uses: list[Use], solution: Solution) -> Iterator[Alarm]:
    """A problem named for fp8 whose products are of wider numbers."""
    products = [use for one in solution.units for use in _uses(one) if use.is_product]
    if any(use.precision == "fp8" for use in products):
        return
    newest, at = _architecture(held)
    wide = [use for use in uses if use.is_product and BITS[use.precision] > BITS["fp8"]]
    if 0 < newest < 89 and any(map(_FP8.search, held.names)):
        saw = f"The tensor cores of sm_{newest} have no fp8, which the problem is named for."
        yield held.alarm("precision-downcast", Level.WARNING, saw, at)
    elif wide:
        what = f"{wide[0].precision} ({shown(wide[0].name)})"
        saw = f"Products are of {what}; none is of fp8, which the problem is named for."
        yield held.alarm("precision-downcast", Level.WARNING, saw, wide[0].at)


def _architecture(held: Unit) -> tuple[int, int]:
    """The newest architecture that templates are told, and where; 0 if none."""
    found = [(int(sm[1]), at[0]) for name, at in held.names.items() if (sm := _SM.search(name))]
    return max(found, default=(0, 0))


def _uses(held: Unit) -> Iterator[Use]:
    for at, text in held.strings:
        if _PRODUCT.search(text):
            for precision in _of_product(text):
                yield Use(precision, at, text, is_product=True)
        elif "cvt." in text:
            yield from _conversions(at, text)
    if held.source.ptx and not held.strings and _PRODUCT.search(held.source.text):
        for precision in _of_product(held.source.text):
            yield Use(precision, 0, "mma", is_product=True)
    for name, places in held.names.items():
        if _ANY.match(name):
            yield Use(_converted(name), places[0], name, is_product=False)
    yield from _fragments(held)


def _converted(name: str) -> str:
    """The precision that a name of _CONVERTS stands for."""
    return next(precision for pattern, precision in _CONVERTS if pattern.match(name))


def _of_product(text: str) -> frozenset[str]:
    """The precisions of the factors of the matrix products in a piece of assembly."""
    found = set()
    for row in text.split("\n"):
        if _PRODUCT.search(row):
            pieces = _PIECES.split(row.split("{")[0].split("%")[0])
            kinds = [_KINDS[piece.strip()] for piece in pieces if piece.strip() in _KINDS]
            kinds += [_KINDS[word] for word in re.findall(r"kind::(\w+)", row) if word in _KINDS]
            found.update(kinds)
    return frozenset(found)


def _conversions(at: int, text: str) -> Iterator[Use]:
    for found in re.finditer(
        r"cvt\.[\w.]*?(tf32|e4m3x2|e5m2x2|f16x2|bf16x2|f16|bf16|e2m1x2)\.f32", text
    ):
        precision = _KINDS[found[1].removesuffix("x2")]
        yield Use(precision, at, found[0], is_product=False)


_ELEMENTS: Final[Mapping[str, str]] = {
    "__half": "fp16", "half": "fp16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16",
    "wmma::precision::tf32": "tf32", "nvcuda::wmma::precision::tf32": "tf32",
    "precision::tf32": "tf32", "signed char": "int8", "double": "fp64",
    "cutlass::half_t": "fp16", "cutlass::bfloat16_t": "bf16", "cutlass::tfloat32_t": "tf32",
    "at::Half": "fp16", "c10::Half": "fp16", "at::BFloat16": "bf16", "bf16": "bf16",
}  # fmt: skip


def _fragments(held: Unit) -> Iterator[Use]:
    for name in ("wmma::fragment", "nvcuda::wmma::fragment", "fragment"):
        for at in held.names.get(name, ()):
            words = [text for _, text, _ in held.tokens[at : at + 16]]
            if any(word.endswith(("matrix_a", "matrix_b")) for word in words):
                kinds = [_ELEMENTS[word] for word in words if word in _ELEMENTS]
                if kinds:
                    yield Use(kinds[0], at, f"{name}<{kinds[0]}>", is_product=True)
