"""What a problem forbids, found among the operations and kernels that a solution ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kbsite.model.forbidden import FAMILIES, Family

__all__ = ["FAMILIES", "Family", "dispatched", "families_of", "family_of_code", "family_of_kernel",
           "forbidden_kernels", "forbidden_operations", "plain_name"]  # fmt: skip


STANDS_FOR = {"matmul": ("convolution",)}
"""What does the work of a family too: with kernels of one element a convolution is a product."""


def dispatched(forbidden: Iterable[str]) -> tuple[str, ...]:
    """The families whose operations must not be dispatched where these are forbidden."""
    banned = tuple(forbidden)
    more = (other for family in banned for other in STANDS_FOR.get(family, ()))
    return tuple(dict.fromkeys((*banned, *more)))


def plain_name(operation: str) -> str:
    """The name of a dispatched operation without namespace and overload: "aten::mm.out" is "mm"."""
    name = operation.rpartition("::")[2] if "::" in operation else operation.removeprefix("aten.")
    return name.partition(".")[0]


def families_of(operation: str) -> frozenset[str]:
    """The families that a dispatched operation belongs to."""
    name = plain_name(operation)
    return frozenset(key for key, family in FAMILIES.items() if name in family.aten)


def family_of_kernel(kernel: str, families: Iterable[str]) -> str | None:
    """The first of these families that a kernel of this name belongs to."""
    for key in families:
        if any(re.search(pattern, kernel) for pattern in FAMILIES[key].kernels):
            return key
    return None


def family_of_code(file: str, function: str | None, families: Iterable[str]) -> str | None:
    """The first of these families that a function of a library's file does the work of."""
    said = f"{file}:{function or ''}"
    for key in families:
        if any(re.search(pattern, said) for pattern in FAMILIES[key].code):
            return key
    return None


def forbidden_operations(
    operations: Iterable[str], forbidden: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """The operations among these that a problem forbids, each with its family."""
    banned = frozenset(forbidden)
    for operation in operations:
        for family in sorted(banned & families_of(operation)):
            yield operation, family


def forbidden_kernels(
    kernels: Iterable[str], forbidden: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """The kernels among these that a problem forbids, each with its family."""
    banned = tuple(forbidden)
    for kernel in kernels:
        family = family_of_kernel(kernel, banned)
        if family is not None:
            yield kernel, family
