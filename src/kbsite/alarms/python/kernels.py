"""Kernels in Python (Triton and its like): what they write, and whether they do any work."""

from __future__ import annotations

import ast
from typing import Final

from kbsite.alarms.python.reading import Reading
from kbsite.alarms.python.scopes import Function, Parameter, Part

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
    for call in reading.module.scopes[kernel].all(ast.Call):
        origin = reading.names.origin(call.func)
        for pointer in _stored_to(reading, call, origin):
            found |= _roots(reading, pointer, kernel, 0)
    return frozenset(found)


def _stored_to(reading: Reading, call: ast.Call, origin: str) -> list[ast.expr]:
    """The pointers that a call in a kernel writes to, itself or in a function of the source."""
    if origin in reading.kernels:
        inner = reading.kernels[origin]
        given = dict(zip(parameters(inner), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        return [given[name] for name in written(reading, inner) if name in given]
    if origin.rpartition(".")[2] not in _STORES:
        return []
    if origin.startswith("triton.") and "()" not in origin:
        return call.args[:1]
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []


def parameters(function: Function) -> list[str]:
    """The names of what a function is given, in order."""
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in placed]


def kept_defaults(function: Function) -> list[str]:
    """The parameters whose default is one object for all calls."""
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    pairs = list(
        zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    more = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    pairs += [(argument, default) for argument, default in more if default is not None]
    return [
        argument.arg
        for argument, default in pairs
        if isinstance(default, ast.Dict | ast.List | ast.Set | ast.Call)
    ]


def starts(reading: Reading, kernel: Function, pointer: ast.expr) -> frozenset[str]:
    """The parameters of a kernel that a pointer starts from."""
    return frozenset(_roots(reading, pointer, kernel, 0))


def _roots(reading: Reading, node: ast.expr, kernel: Function, depth: int) -> set[str]:
    """The parameters that a pointer starts from: the leftmost part of its sum."""
    if isinstance(node, ast.Name):
        return _of_name(reading, node, kernel, depth) if depth <= _DEEPEST else set()
    start = _leftmost(node)
    if start is None or depth > _DEEPEST:
        return set()
    return _roots(reading, start, kernel, depth + 1)


def _leftmost(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp():
            return node.left
        case ast.Subscript() | ast.Attribute():
            return node.value
        case ast.Call(func=ast.Attribute(attr="to" | "cast") as called):
            return called.value
        case ast.Call():
            given = [k.value for k in node.keywords if k.arg == "base"] or node.args
            return given[0] if given else None
        case _:
            return None


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
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="to" | "cast") as called):
            return _is_copied(reading, kernel, called.value, depth + 1)
        case ast.Call():
            return reading.names.origin(node.func).endswith(".load")
        case ast.Name():
            values = _values(reading, kernel, node.id)
            return bool(values) and all(_is_copied(reading, kernel, v, depth + 1) for v in values)
        case ast.BinOp():
            idle = neutral(node)
            return idle is not None and _is_copied(reading, kernel, idle, depth + 1)
        case _:
            return False


def _values(reading: Reading, kernel: Function, name: str) -> list[ast.expr]:
    """What a name in a kernel is set to; empty if it may be something else too."""
    bound = reading.module.scopes[kernel].bound.get(name, [])
    values = [value for value in bound if isinstance(value, ast.expr)]
    return values if len(values) == len(bound) else []


def neutral(node: ast.BinOp) -> ast.expr | None:
    """What is left of a sum with 0 or a product with 1; None of any other."""
    none = 0 if isinstance(node.op, ast.Add | ast.Sub) else 1
    if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return None
    for part, other in ((node.right, node.left), (node.left, node.right)):
        if isinstance(part, ast.Constant) and part.value == none and part.value is not True:
            return other
    return None
