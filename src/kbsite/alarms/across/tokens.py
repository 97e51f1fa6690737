"""Sources as tokens without what a copyist changes: names, literals, comments, white space."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import Final

NATIVE: Final = {".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".hip", ".ptx", ".metal"}
"""Ends of the names of files in C, or what looks like it."""

PYTHON: Final = {".py", ".pyi"}

_NAME = r"[^\W\d]\w*+"
_REST = (
    rf"(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*+)|(?P<name>{_NAME}(?:\.{_NAME})*+)"
    r"|(?P<sign><<<|>>>|::|->|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|[^\w\s])"
)
# |(?!) is of no meaning to a Python without a bug: CONTRIBUTING.md, patterns.
# One that nothing closes is taken as it stands, not looked for again from its next quote.
_SHORT = r"[rRbBuUfF]{0,2}(?:\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?)"
_IN_PYTHON: Final = re.compile(
    r"\s++|\\\n|#[^\n]*+"
    r"|(?P<long>[rRbBuUfF]{0,2}(?:\"\"\"(?:[^\"\\]|\\.|\"(?!\"\")|(?!))*+\"\"\""
    r"|'''(?:[^'\\]|\\.|'(?!'')|(?!))*+'''))"
    rf"|(?P<text>{_SHORT})|{_REST}",
    re.DOTALL,
)
_IN_C: Final = re.compile(
    r"\s++|\\\n|//[^\n]*+|/\*(?:[^*]|\*(?!/)|(?!))*+(?:\*/)?"
    rf"|(?P<text>{_SHORT})|{_REST}",
    re.DOTALL,
)
_ROOTS: Final = {"tl", "torch", "triton", "F", "nn", "at", "cute", "libdevice", "language"}
"""What a name begins with that nobody can choose."""
_KEPT: Final = frozenset(keyword.kwlist) | {
    "int", "float", "double", "char", "void", "bool", "half", "auto", "const", "unsigned", "struct",
    "template", "typename", "static", "inline", "extern", "switch", "case", "default", "do", "goto",
    "sizeof", "using", "namespace", "public", "private", "constexpr", "range", "len", "self",
    "include", "define", "pragma", "unroll", "threadIdx", "blockIdx", "blockDim", "gridDim",
    "nv_bfloat16", "float4", "half2", "atomicAdd", "uint32_t", "uint64_t", "int8_t",
}  # fmt: skip


def tokens(text: str, *, native: bool) -> Iterator[str]:
    """The tokens of a source, each own name as N, each number as 0, each text as S.

    Native code that stands in a text of Python is read as what it is.
    """
    for match in (_IN_C if native else _IN_PYTHON).finditer(text):
        match match.lastgroup:
            case "long":
                yield from _long(match[0])
            case "text":
                yield "S"
            case "number":
                yield "0"
            case "name":
                yield from _named(match[0])
            case "sign":
                yield match[0]
            case _:
                pass


def _long(literal: str) -> Iterator[str]:
    yield "S"
    if "{" in literal and ";" in literal:
        yield from tokens(literal.lstrip("rRbBuUfF")[3:-3], native=True)


def _named(name: str) -> Iterator[str]:
    parts = name.split(".")
    if parts[0] in _ROOTS:
        yield name
        return
    for number, part in enumerate(parts):
        if number:
            yield "."
        yield part if part in _KEPT or part.startswith("__") else "N"
