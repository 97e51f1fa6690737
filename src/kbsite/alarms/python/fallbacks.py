"""Fall-backs: what is done by others where the solution's own kernel fails."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
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
        if any(_is_suppression(reading, item.context_expr) for item in opened.items):
            yield from _suppressed(reading, opened)


def _suppressed(reading: Reading, opened: ast.With) -> Iterator[Alarm]:
    if reading.is_hot(opened):
        yield from _instead(reading, opened, opened, _behind(reading, opened))
    elif reading.phase(opened) is not Phase.TEST:
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
    if not _raises(tried.handlers):
        handled = [part for handler in tried.handlers for part in handler.body]
        at: ast.AST = tried.handlers[0] if tried.handlers else tried
        yield from _instead(reading, tried, at, (*handled, *_behind(reading, tried)))


def _instead(
    reading: Reading, node: ast.Try | ast.With, at: ast.AST, others: Iterable[ast.stmt]
) -> Iterator[Alarm]:
    """What the framework does in other statements, where the kernels of a node fail."""
    if not _launches(reading, node.body):
        return
    for statement in others:
        found = _by_others(reading, statement)
        if found is not None:
            says = "Where the kernel fails, operations of the framework take over without a word."
            yield reading.raised("fallback", ALARM, says, _from(at, found))
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
        if isinstance(part, ast.Call) and _is_by_others(reading, part):
            return part
    return None


def _is_by_others(reading: Reading, call: ast.Call) -> bool:
    """Whether the framework does a call, or a heavy part of the function that it enters."""
    origin = reading.names.origin(call.func)
    if op(origin):
        return True
    found = reading.names.called(call)
    if not isinstance(found, ast.FunctionDef) or found in reading.kernels.values():
        return False
    inside = reading.module.scopes[found]
    calls = [(inner, reading.names.origin(inner.func)) for inner in inside.all(ast.Call)]
    if any(reading.launches(inner, called) for inner, called in calls):
        return False
    products = any(isinstance(part.op, ast.MatMult) for part in inside.all(ast.BinOp))
    return products or any(op(called) in FAMILY for _, called in calls)


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
