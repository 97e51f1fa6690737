"""Kernels in Python (Triton and its like): what they write, and whether they do any work."""

from __future__ import annotations

import ast
from typing import Final

from kbsite.alarms.python.module import Function, Parameter, Part
from kbsite.alarms.python.reading import Reading

_STORES: Final = frozenset(
    ("store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "atomic_or",
     "atomic_and", "atomic_xor", "store_tensor_descriptor", "_experimental_descriptor_store")
)  # fmt: skip
_DEEPEST: Final = 12


def written(reading: Reading, kernel: Function) -> frozenset[str]:
    """The parameters of a kernel that it stores to; empty where that cannot be told."""
    memo, key = reading.module.memo, ("written", kernel)
    held = memo.get(key)
    if isinstance(held, frozenset):
        return held
    memo[key] = frozenset()  # what calls itself writes nothing more
    found = _written(reading, kernel)
    memo[key] = found
    return found


def _written(reading: Reading, kernel: Function) -> frozenset[str]:
    found: set[str] = set()
    scope = reading.module.scopes[kernel]
    for call in scope.all(ast.Call):
        origin = reading.names.origin(call.func)
        last = origin.rpartition(".")[2]
        if last in _STORES:
            on = call.args[0] if origin.startswith("triton.") and call.args else None
            if on is None and isinstance(call.func, ast.Attribute):
                on = call.func.value if not origin.startswith("triton.") else None
            if on is not None:
                found |= _roots(reading, on, kernel, 0)
        elif origin in reading.kernels:
            inner = reading.kernels[origin]
            given = dict(zip(parameters(inner), call.args, strict=False))
            given |= {k.arg: k.value for k in call.keywords if k.arg}
            for name in written(reading, inner):
                if name in given:
                    found |= _roots(reading, given[name], kernel, 0)
    return frozenset(found)


def parameters(function: Function) -> list[str]:
    """The names of what a function is given, in order."""
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in placed]


def _roots(reading: Reading, node: ast.expr, kernel: Function, depth: int) -> set[str]:
    """The parameters that a pointer starts from: the leftmost part of its sum."""
    if depth > _DEEPEST:
        return set()
    match node:
        case ast.BinOp():
            return _roots(reading, node.left, kernel, depth + 1)
        case ast.Call():
            given = [k.value for k in node.keywords if k.arg == "base"] or node.args[:1]
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cast"):
                given = [node.func.value]
            return _roots(reading, given[0], kernel, depth + 1) if given else set()
        case ast.Subscript() | ast.Attribute():
            return _roots(reading, node.value, kernel, depth + 1)
        case ast.Name():
            return _of_name(reading, node, kernel, depth)
        case _:
            return set()


def _of_name(reading: Reading, node: ast.Name, kernel: Function, depth: int) -> set[str]:
    found: set[str] = set()
    for bound in reading.module.scopes[kernel].bound.get(node.id, ())[:6]:
        if isinstance(bound, Parameter):
            found.add(bound.name)
        elif isinstance(bound, Part):
            found |= _roots(reading, bound.whole, kernel, depth + 1)
        elif isinstance(bound, ast.Tuple):
            continue
        elif isinstance(bound, ast.expr):
            found |= _roots(reading, bound, kernel, depth + 1)
    return found


def is_trivial(reading: Reading, kernel: Function) -> bool:
    """Whether a kernel only copies: what it stores is what it loaded, plus 0 or times 1 at most."""
    scope = reading.module.scopes[kernel]
    if bool(scope.all(ast.For)) or bool(scope.all(ast.While)):
        return False
    stored = []
    for call in scope.all(ast.Call):
        origin = reading.names.origin(call.func)
        name = origin.rpartition(".")[2]
        if origin in reading.kernels or name.startswith("atomic"):
            return False
        if name == "store" and len(call.args) > 1:
            stored.append(call.args[1])
    return bool(stored) and all(_is_copied(reading, kernel, value, 0) for value in stored)


def leaves(reading: Reading, kernel: Function) -> bool:
    """Whether a kernel stores what it loaded where it loaded it: nothing changes."""
    if not is_trivial(reading, kernel):
        return False
    calls = reading.module.scopes[kernel].all(ast.Call)
    on = {"load": set[str](), "store": set[str]()}
    for call in calls:
        name = reading.names.origin(call.func).rpartition(".")[2]
        if name in on and call.args:
            on[name] |= _roots(reading, call.args[0], kernel, 0)
    return on["load"] == on["store"]


def is_blind(reading: Reading, kernel: Function) -> bool:
    """Whether nothing that a kernel loads goes into what it stores."""
    scope = reading.module.scopes[kernel]
    stored = []
    for call in scope.all(ast.Call):
        origin = reading.names.origin(call.func)
        name = origin.rpartition(".")[2]
        if name in _STORES and not origin.startswith("triton."):
            return False
        if origin in reading.kernels or name in ("inline_asm_elementwise", "call", "dot"):
            return False
        if name in _STORES and len(call.args) > 1:
            stored.append(call.args[1])
    return bool(stored) and not any(_sees(reading, kernel, value, set()) for value in stored)


def _sees(reading: Reading, kernel: Function, node: ast.expr, seen: set[str]) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            name = reading.names.origin(part.func).rpartition(".")[2]
            if name == "load" or name.startswith(("atomic", "load_")):
                return True
        if isinstance(part, ast.Name) and part.id not in seen:
            seen.add(part.id)
            for bound in reading.module.scopes[kernel].bound.get(part.id, ()):
                value = bound.whole if isinstance(bound, Part) else bound
                if isinstance(value, ast.expr) and _sees(reading, kernel, value, seen):
                    return True
    return False


def _is_copied(reading: Reading, kernel: Function, node: ast.expr, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    match node:
        case ast.Call():
            name = reading.names.origin(node.func).rpartition(".")[2]
            if name in ("to", "cast") and isinstance(node.func, ast.Attribute):
                return _is_copied(reading, kernel, node.func.value, depth + 1)
            return name == "load"
        case ast.Name():
            bound = reading.module.scopes[kernel].bound.get(node.id, [])
            values = [value for value in bound if isinstance(value, ast.expr)]
            whole = len(values) == len(bound) and bool(values)
            return whole and all(_is_copied(reading, kernel, v, depth + 1) for v in values)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            idle = neutral(node)
            return idle is not None and _is_copied(reading, kernel, idle, depth + 1)
        case ast.Constant():
            return True
        case _:
            return False


def neutral(node: ast.BinOp) -> ast.expr | None:
    """What is left of a sum with 0 or a product with 1; None of any other."""
    none = 0 if isinstance(node.op, ast.Add | ast.Sub) else 1
    if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return None
    for part, other in ((node.right, node.left), (node.left, node.right)):
        if isinstance(part, ast.Constant) and part.value == none and part.value is not True:
            return other
    return None
