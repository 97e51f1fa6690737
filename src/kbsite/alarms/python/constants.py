"""Texts and numbers that a source puts together of constants, worked out without running it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from kbsite.alarms.python.pieces import (
    LONGEST,
    SUMS,
    Value,
    bounded,
    function,
    method,
    operation,
    shown,
    summed,
    turned,
)

DEEPEST: Final = 40
"""Expressions within each other that are looked into."""

WORK: Final = 150_000
"""Expressions that are worked out for one source; long texts count for many."""


MOST_GIVEN: Final = 4
"""Arguments of a call of a function that is worked out."""


class Constants:
    """Works out expressions. `follow` gives what a name stands for, `origin` what is called."""

    def __init__(
        self,
        follow: Callable[[ast.expr], ast.expr | None],
        origin: Callable[[ast.expr], str],
    ) -> None:
        self._follow = follow
        self._origin = origin
        self._known: dict[ast.expr, Value | None] = {}
        self._work = WORK

    def value(self, node: ast.expr, depth: int = 0) -> Value | None:
        """What an expression is; None where it is not of constants, or is too large."""
        if node in self._known:
            return self._known[node]
        if depth > DEEPEST or self._work <= 0:
            return None
        found = self._value(node, depth)
        length = len(found) if isinstance(found, str | bytes | tuple) else 0
        self._work -= 1 + length // 50
        self._known[node] = found
        return found

    def _value(self, node: ast.expr, depth: int) -> Value | None:
        match node:
            case ast.Constant(value=str() | bytes() | int() | float() as value):
                return value
            case ast.Name() | ast.Attribute():
                target = self._follow(node)
                return None if target is None else self.value(target, depth + 1)
            case ast.BinOp() | ast.UnaryOp() | ast.IfExp() | ast.BoolOp() | ast.NamedExpr():
                return self._chosen(node, depth)
            case ast.JoinedStr() | ast.FormattedValue():
                return self._joined(node, depth)
            case ast.Tuple() | ast.List():
                return self._all(node.elts, depth)
            case ast.Subscript():
                return self._piece(node, depth)
            case ast.Call():
                return bounded(self._called(node, depth))
            case ast.GeneratorExp() | ast.ListComp():
                return self._mapped(node, depth)
            case _:
                return None

    def _all(self, nodes: Sequence[ast.expr], depth: int) -> tuple[Value, ...] | None:
        values: list[Value] = []
        for node in nodes[:LONGEST]:
            value = self.value(node, depth + 1)
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def _joined(self, node: ast.JoinedStr | ast.FormattedValue, depth: int) -> str | None:
        if isinstance(node, ast.FormattedValue):
            value = self.value(node.value, depth + 1)
            spec = self.value(node.format_spec, depth + 1) if node.format_spec else ""
            return None if value is None else shown(value, spec, node.conversion)
        parts = self._all(node.values, depth)
        text = None if parts is None else "".join(str(part) for part in parts)
        return text if text is None or len(text) <= LONGEST else None

    def _sides(self, node: ast.BinOp, depth: int) -> tuple[Value | None, Value | None]:
        return self.value(node.left, depth + 1), self.value(node.right, depth + 1)

    def _chosen(
        self,
        node: ast.BinOp | ast.UnaryOp | ast.IfExp | ast.BoolOp | ast.NamedExpr,
        depth: int,
    ) -> Value | None:
        """What signs between values come to, and choices where all that they hang on is known."""
        match node:
            case ast.BinOp():
                return operation(*self._sides(node, depth), node.op)
            case ast.UnaryOp():
                return turned(self.value(node.operand, depth + 1), node.op)
            case ast.NamedExpr():
                return self.value(node.value, depth + 1)
            case ast.IfExp():
                test = self.value(node.test, depth + 1)
                taken = node.body if test else node.orelse
                return None if test is None else self.value(taken, depth + 1)
            case _:
                values = self._all(node.values, depth) or ()
                stops = isinstance(node.op, ast.Or)
                return next((v for v in values if bool(v) == stops), (None, *values)[-1])

    def _piece(self, node: ast.Subscript, depth: int) -> Value | None:
        held = node.value
        if isinstance(held, ast.Name | ast.Attribute):
            held = self._follow(held) or held
        if isinstance(held, ast.Dict):
            return self._entry(held, node.slice, depth)
        whole = self.value(held, depth + 1)
        if not isinstance(whole, str | bytes | tuple):
            return None
        cut = node.slice
        if isinstance(cut, ast.Slice):
            return self._cut(whole, cut, depth)
        place = self.value(cut, depth + 1)
        if isinstance(place, int) and -len(whole) <= place < len(whole):
            return whole[place]
        return None

    def _cut(
        self, whole: str | bytes | tuple[Value, ...], cut: ast.Slice, depth: int
    ) -> Value | None:
        bounds: list[int | None] = []
        for part in (cut.lower, cut.upper, cut.step):
            value = None if part is None else self.value(part, depth + 1)
            if part is not None and not isinstance(value, int):
                return None
            bounds.append(value if isinstance(value, int) else None)
        return None if bounds[2] == 0 else whole[slice(*bounds)]

    def _entry(self, held: ast.Dict, key: ast.expr, depth: int) -> Value | None:
        wanted = self.value(key, depth + 1)
        for name, value in zip(held.keys, held.values, strict=True):
            if wanted is not None and name is not None and self.value(name, depth + 1) == wanted:
                return self.value(value, depth + 1)
        return None

    def _mapped(self, node: ast.GeneratorExp | ast.ListComp, depth: int) -> Value | None:
        """`f(x) for x in constants`, for the one name of the one loop."""
        loop = node.generators[0]
        if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
            return None
        items = self.value(loop.iter, depth + 1)
        if not isinstance(items, str | bytes | tuple) or len(items) > 5_000:
            return None
        name, values = loop.target.id, list[Value]()
        inner = Constants(self._follow, self._origin)
        for item in items:
            inner._follow = _given(self._follow, name, _written(item))
            inner._known, inner._work = {}, self._work
            value = inner.value(node.elt, depth + 1)
            self._work = inner._work
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def _called(self, node: ast.Call, depth: int) -> Value | None:
        if node.keywords:
            return None
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, depth + 1)
            if isinstance(owner, str | bytes):
                arguments = self._all(node.args, depth)
                return None if arguments is None else method(owner, node.func.attr, arguments)
        origin = self._origin(node.func)
        if origin in ("builtins.map", "functools.reduce") and len(node.args) == 2:
            items = self.value(node.args[1], depth + 1)
            return self._over(origin, self._origin(node.args[0]), items)
        values = self._all(node.args, depth) if len(node.args) <= MOST_GIVEN else None
        return None if not values else function(origin, values)

    def _over(self, origin: str, done: str, items: Value | None) -> Value | None:
        """What is done to each of some constants, or with all of them."""
        if not isinstance(items, str | bytes | tuple) or len(items) > 5_000:
            return None
        if origin == "functools.reduce":
            return summed(tuple(items)) if done in SUMS else None
        found = [function(done, (item,)) for item in items]
        known = tuple(value for value in found if value is not None)
        return known if len(known) == len(found) else None


def _given(
    follow: Callable[[ast.expr], ast.expr | None], name: str, value: ast.expr
) -> Callable[[ast.expr], ast.expr | None]:
    return lambda node: value if isinstance(node, ast.Name) and node.id == name else follow(node)


def _written(value: Value) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple(elts=[_written(part) for part in value])
    return ast.Constant(value)
