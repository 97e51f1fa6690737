"""What a problem says of native code: which operations it is about, and in what precision."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.python.ops import FAMILY, full, op
from kbsite.model.forbidden import operations

BITS: Final = {
    "fp64": 64, "fp32": 32, "tf32": 19, "fp16": 16, "bf16": 16, "fp8": 8, "int8": 8, "fp4": 4,
    "int4": 4,
}  # fmt: skip
"""Precisions, by how many bits are left."""

_SPELLED: Final = (
    ("fp64", r"fp64|float64|f64|double"),
    ("fp32", r"fp32|float32|f32"),
    ("tf32", r"tf32|tfloat32"),
    ("bf16", r"bf16|bfloat16"),
    ("fp16", r"fp16|float16|f16|half"),
    ("fp8", r"fp8\w*|float8\w*|e4m3\w*|e5m2\w*"),
    ("fp4", r"fp4|nvfp4|mxfp4|e2m1\w*|float4_e2m1\w*"),
    ("int8", r"u?int8|i8|w8a8|w8a16"),
    ("int4", r"u?int4|i4|w4a16|w4a8|w4a4|4-bit"),
)
_NAMED: Final = tuple(
    (name, re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])")) for name, words in _SPELLED
)
_PRODUCT: Final = re.compile(r"[\w)\]] @ [\w(]")
_ATTRIBUTE: Final = re.compile(r"(?:^|[^\w])([A-Za-z_][\w.]*)\s*\(")


class Task(Struct, frozen=True):
    """A problem, as far as native code is judged by it."""

    forbidden: dict[str, str]
    """Operations and families that it forbids, each as it spells one of them."""
    spelled: tuple[str, ...]
    """All that it forbids, in lower case."""
    families: frozenset[str]
    """Families of operations that it is about."""
    precisions: frozenset[str]
    """Precisions that it names, or that its reference works in."""
    named: frozenset[str]
    """Precisions that its title and name claim."""
    words: str
    """Title, summary, statement and name, in lower case."""


def task(evidence: Evidence) -> Task:
    """What is known of the problem of a run."""
    held = evidence.problem
    if held is None:
        return Task({}, (), frozenset(), frozenset(), frozenset(), "")
    problem = held.problem
    claims = " ".join((held.id.replace("_", " "), problem.title, problem.summary)).lower()
    forbidden: dict[str, str] = {}
    for spelled in operations(problem.forbidden):
        name = op(full(spelled.strip("( ").removeprefix("."))) or _last(spelled)
        forbidden.setdefault(name, spelled)
        forbidden.setdefault(FAMILY.get(name, name), spelled)
    named = precisions(claims)
    formats = (tensor.dtype.value for tensor in problem.outputs.values())
    told = named | precisions(" ".join((*formats, *problem.tags)).lower())
    return Task(
        forbidden=forbidden,
        spelled=tuple(one.lower() for one in operations(problem.forbidden)),
        families=_families(held.reference, claims, forbidden),
        precisions=told | _of_reference(held.reference, told),
        named=named,
        words=f"{claims} {held.prompt.lower()}",
    )


def _families(reference: str, claims: str, forbidden: dict[str, str]) -> frozenset[str]:
    """Families of operations that a problem is about."""
    used = {_last(found[1]) for found in _ATTRIBUTE.finditer(reference)}
    used.update(re.findall(r"[a-z_]\w+", claims), forbidden)
    if "gemm" in claims or "matrix product" in claims or _PRODUCT.search(reference):
        used.add("matmul")
    return frozenset(FAMILY[name] for name in used if name in FAMILY)


def _of_reference(reference: str, told: frozenset[str]) -> frozenset[str]:
    """The precisions that a reference names; where nobody names any, it works in fp32."""
    named = precisions(" ".join(re.findall(r"torch\.(\w+)", reference)).lower())
    return frozenset(("fp32",)) if reference and not told and not named else named


def precisions(text: str) -> frozenset[str]:
    """The precisions that a text in lower case names."""
    return frozenset(name for name, words in _NAMED if words.search(text))


def _last(spelled: str) -> str:
    name = re.split(r"[.\s:]", spelled.strip("( "))[-1]
    return name.lower() if name[:1].isupper() else name
