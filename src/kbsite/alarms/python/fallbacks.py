"""Fall-backs: what is done by others where the solution's own kernel fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from kbsite.alarms.python.ops import FAMILY, op
from kbsite.alarms.python.reading import NATIVE, Phase, Reading
from kbsite.model.alarm import Alarm, Level

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM

_IMPORTS: Final = frozenset(("builtins.ImportError", "builtins.ModuleNotFoundError"))


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of fall-backs, in a call and where kernels are built."""
    for tried in reading.module.all(ast.Try):
        if reading.on_device(tried) or _only_imports(reading, tried):
            continue
        if reading.is_hot(tried):
            yield from _in_call(reading, tried)
        elif reading.phase(tried) is not Phase.TEST and not _raises(tried.handlers):
            yield from _in_setup(reading, tried, tried.body)
    for opened in reading.module.all(ast.With):
        quiet = any(_is_suppression(reading, item.context_expr) for item in opened.items)
        if quiet and reading.phase(opened) is not Phase.TEST:
            yield from _in_setup(reading, opened, opened.body)


def _only_imports(reading: Reading, tried: ast.Try) -> bool:
    caught = [handler.type for handler in tried.handlers if handler.type is not None]
    named = [
        part for kind in caught for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])
    ]
    return bool(named) and all(reading.names.origin(kind) in _IMPORTS for kind in named)


def _raises(handlers: Sequence[ast.ExceptHandler]) -> bool:
    return all(isinstance(handler.body[-1], ast.Raise) for handler in handlers)


def _is_suppression(reading: Reading, node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return reading.names.origin(called) == "contextlib.suppress"


def _in_call(reading: Reading, tried: ast.Try) -> Iterator[Alarm]:
    if not _launches(reading, tried.body) or _raises(tried.handlers):
        return
    instead = [part for handler in tried.handlers for part in handler.body]
    for statement in (*instead, *_behind(reading, tried)):
        found = _by_others(reading, statement)
        if found is not None:
            says = "Where the kernel fails, operations of the framework take over without a word."
            yield reading.raised("fallback", ALARM, says, _from(tried.handlers[0], found))
            return


def _from(handler: ast.AST, found: ast.AST) -> ast.AST:
    first, last = getattr(handler, "lineno", 1), getattr(found, "end_lineno", 1)
    return ast.Pass(lineno=first, end_lineno=max(first, last), col_offset=0, end_col_offset=0)


def _behind(reading: Reading, node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that are reached after a node, up to the end of its function."""
    at: ast.AST = node
    for above in (*reading.module.above(node), reading.module.scope(node).node):
        for field in ("body", "orelse", "finalbody"):
            held = getattr(above, field, None)
            if isinstance(held, list) and at in held:
                yield from held[held.index(at) + 1 :]
        at = above


def _launches(reading: Reading, statements: Sequence[ast.AST]) -> bool:
    """Whether statements launch a kernel, themselves or by functions of the source."""
    for part in (part for statement in statements for part in ast.walk(statement)):
        if isinstance(part, ast.Call):
            origin = reading.names.origin(part.func)
            if reading.launches(part, origin) or _reaches(reading, origin):
                return True
    return False


def _reaches(reading: Reading, origin: str) -> bool:
    found = reading.names.definition(origin.removesuffix("()"))
    if not isinstance(found, ast.FunctionDef) or found in reading.kernels.values():
        return False
    calls = reading.module.scopes[found].all(ast.Call)
    return any(reading.launches(call, reading.names.origin(call.func)) for call in calls)


def _by_others(reading: Reading, statement: ast.AST) -> ast.AST | None:
    """The first thing in a statement that an operation of the framework works out."""
    for part in ast.walk(statement):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
            return part
        if isinstance(part, ast.Call) and op(reading.names.origin(part.func)):
            return part
    return None


def _in_setup(reading: Reading, node: ast.stmt, body: Sequence[ast.stmt]) -> Iterator[Alarm]:
    """A build that may fail, and heavy operations of the framework for that case."""
    builds = any(
        isinstance(part, ast.Call) and reading.names.origin(part.func).startswith(NATIVE)
        for statement in body
        for part in ast.walk(statement)
    )
    if not builds:
        return
    heavy = [call for call, origin in reading.hot_calls if op(origin) in FAMILY]
    products = [
        part for part in reading.module.all(ast.BinOp)
        if isinstance(part.op, ast.MatMult) and reading.is_hot(part)
    ]  # fmt: skip
    if heavy or products:
        says = "Where the kernel cannot be built, operations of the framework take over."
        yield reading.raised("fallback", WARNING, says, node)
