"""Formulas over named sizes: arithmetic and nothing else, whoever wrote them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

Number = int | float

LIMIT_LENGTH: Final = 400
"""Characters of a formula."""

LIMIT_DEPTH: Final = 40
"""Brackets and signs within each other."""

LIMIT: Final = 2**100
"""No size, no count of bytes or operations comes near it."""

FUNCTIONS: Final = ("ceil", "log2", "max", "min")

KNOWS: Final = "a formula knows numbers, dimensions, + - * // / % **, ceil, log2, max and min"

_SIGNS = re.compile(r"[A-Za-z0-9_+\-*/%(),.\s]*")
_TWO: Final[Mapping[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv, ast.Mod: operator.mod,
}  # fmt: skip


class FormulaError(ValueError):
    """A formula that cannot be read or has no value; says what is wrong with it."""


def evaluate(formula: str, sizes: Mapping[str, int]) -> Number:
    """The value of a formula where its names stand for these sizes; FormulaError if it has none."""
    return _value(_parsed(formula), sizes, 0)


def names(formula: str) -> frozenset[str]:
    """The sizes that a formula needs; FormulaError where it is none."""
    found: set[str] = set()
    _gather(_parsed(formula), found, 0)
    return frozenset(found)


def _parsed(formula: str) -> ast.expr:
    if len(formula) > LIMIT_LENGTH:
        raise FormulaError(f"has {len(formula)} characters; expected at most {LIMIT_LENGTH}")
    if not _SIGNS.fullmatch(formula):
        raise FormulaError(f"{formula!r} is no formula: {KNOWS}")
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise FormulaError(f"{formula!r} is no formula: {KNOWS}") from error


def _gather(node: ast.expr, found: set[str], depth: int) -> None:
    """Add all names below a node; whatever is no arithmetic is refused, needed or not."""
    if isinstance(node, ast.Name):
        found.add(node.id)
    for part in _parts(node, depth):
        _gather(part, found, depth + 1)


def _parts(node: ast.expr, depth: int) -> list[ast.expr]:
    """What a node is made from."""
    if depth > LIMIT_DEPTH:
        raise FormulaError(f"is nested too deeply; expected at most {LIMIT_DEPTH} levels")
    match node:
        case ast.Name():
            return []
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return []
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return [part]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in (*_TWO, ast.Pow):
            return [left, right]
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if (
            name in FUNCTIONS and given
        ):
            return given
        case _:
            pass
    raise FormulaError(f"`{ast.unparse(node)}` is not understood: {KNOWS}")


def _value(node: ast.expr, sizes: Mapping[str, int], depth: int) -> Number:
    parts = [_value(part, sizes, depth + 1) for part in _parts(node, depth)]
    try:
        found = _result(node, parts, sizes)
    except FormulaError:
        raise
    except ZeroDivisionError as error:
        raise FormulaError(f"`{ast.unparse(node)}` divides by zero") from error
    except (OverflowError, ValueError) as error:
        raise FormulaError(f"`{ast.unparse(node)}` has no value: {error}") from error
    if not abs(found) <= LIMIT:
        raise FormulaError(f"`{ast.unparse(node)}` is too large for any size")
    return found


def _result(node: ast.expr, parts: list[Number], sizes: Mapping[str, int]) -> Number:
    match node:
        case ast.Name(id=name):
            return _size(name, sizes)
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp():
            return -parts[0]
        case ast.BinOp(op=ast.Pow()):
            return _power(parts[0], parts[1])
        case ast.BinOp(op=sign):
            return _TWO[type(sign)](parts[0], parts[1])
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, parts)
        case _:
            pass
    raise AssertionError(ast.unparse(node))  # _parts() knows no other


def _size(name: str, sizes: Mapping[str, int]) -> int:
    if name not in sizes:
        known = ", ".join(sizes) or "none"
        raise FormulaError(f"`{name}` is no dimension; there are {known}")
    return sizes[name]


def _power(base: Number, exponent: Number) -> Number:
    # Asked before: a power of a few characters can take hours and all memory.
    if base and math.log2(abs(base)) * exponent > math.log2(LIMIT):
        raise FormulaError(f"`{base}**{exponent}` is too large for any size")
    found: Number | complex = base**exponent
    if isinstance(found, complex):
        raise FormulaError(f"`{base}**{exponent}` is no real number")
    return found


def _called(name: str, given: list[Number]) -> Number:
    if name in ("max", "min"):
        return max(given) if name == "max" else min(given)
    if len(given) != 1:
        raise FormulaError(f"`{name}` takes one number, got {len(given)}")
    return math.ceil(given[0]) if name == "ceil" else math.log2(given[0])
