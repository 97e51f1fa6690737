"""Tests of what is kept between calls, for `flow`: which side a call takes that finds it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbsite.alarms.python.flow import Flow
    from kbsite.alarms.python.flow_memory import Frame, Value


class Decisions:
    """Decides tests of a flow."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def side(self, test: ast.expr, frame: Frame) -> int:
        """1 where a test of what is kept is met by a call that finds it, -1 where not, else 0."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return -self.side(test.operand, frame)
            case ast.BoolOp():
                sides = [self.side(part, frame) for part in test.values]
                return next((side for side in sides if side), 0)
            case ast.NamedExpr():
                return self.side(test.value, frame)
            case ast.Compare(ops=[sign]):
                return self._compared(test, sign, frame)
            case ast.Call() if self._asks_for_attribute(test):
                return 1
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                return 1 if self._is_kept(self._flow.value(test, frame)) else 0
            case _:
                return 0

    def _compared(self, test: ast.Compare, sign: ast.cmpop, frame: Frame) -> int:
        sides = [self._flow.value(part, frame) for part in (test.left, *test.comparators)]
        if not any(self._is_kept(side) for side in sides):
            return 0
        alike = isinstance(sign, ast.In | ast.Is | ast.Eq)
        if not alike and not isinstance(sign, ast.NotIn | ast.IsNot | ast.NotEq):
            return 0
        return 1 if alike != self._is_absence(test.comparators[-1], sign, sides) else -1

    def _is_absence(self, last: ast.expr, sign: ast.cmpop, sides: list[Value]) -> bool:
        """Whether it is compared with what stands for nothing, which what is kept is not."""
        if isinstance(last, ast.Constant):
            return not last.value and not isinstance(sign, ast.In | ast.NotIn)
        marks = self._flow.data(*sides)
        return isinstance(sign, ast.Is | ast.IsNot) and not any(
            label in ("id", "meta", "host") or label.startswith("in:") for label in marks
        )

    def _asks_for_attribute(self, test: ast.Call) -> bool:
        if self._flow.reading.names.origin(test.func) != "builtins.hasattr" or len(test.args) < 2:
            return False
        name = self._flow.reading.names.text(test.args[1])
        return any(place.endswith(f".{name}") for place in self._flow.kept)

    def _is_kept(self, value: Value) -> bool:
        counted = self._flow.done.counted
        marks = (label.removeprefix("state:") for label in value if label.startswith("state:"))
        return any(mark in self._flow.kept and mark not in counted for mark in marks)
