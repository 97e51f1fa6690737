"""Formulas of a problem.yaml, with errors that say where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbsite.errors import InputError
from kbsite.model import expressions
from kbsite.model.expressions import FormulaError

Where = tuple[Path | str, str]
"""The file and the key that a formula stands under."""


def evaluate(expression: str, sizes: Mapping[str, int], where: Where) -> int | float:
    """The value of a formula where its names stand for these sizes; InputError if it has none."""
    try:
        return expressions.evaluate(expression, sizes)
    except FormulaError as error:
        raise InputError(str(error), path=where[0], key=where[1]) from error


def whole(expression: str | int, sizes: Mapping[str, int], where: Where) -> int:
    """The same of a formula whose value has to be a whole number."""
    value = evaluate(str(expression), sizes, where)
    if value != int(value):
        message = f"`{expression}` is {value} for {shown(sizes)}; expected a whole number"
        raise InputError(message, path=where[0], key=where[1])
    return int(value)


def names(expression: str, where: Where) -> frozenset[str]:
    """The sizes that a formula needs; InputError where it is no formula."""
    try:
        return expressions.names(expression)
    except FormulaError as error:
        raise InputError(str(error), path=where[0], key=where[1]) from error


def shown(sizes: Mapping[str, int]) -> str:
    """Sizes in words, such as "M=4, N=8"."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
