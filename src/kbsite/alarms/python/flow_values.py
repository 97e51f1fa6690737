"""What expressions give, for `flow`: names, attributes, items, operators, choices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from kbsite.alarms.python.flow_calls import Calls
from kbsite.alarms.python.flow_memory import NOTHING, Frame, is_tensor
from kbsite.alarms.python.kernels import neutral
from kbsite.alarms.python.scopes import Function, class_of

if TYPE_CHECKING:
    from kbsite.alarms.python.flow import Flow
    from kbsite.alarms.python.flow_memory import Value

_META: Final = frozenset(
    """shape dtype device ndim is_cuda requires_grad layout itemsize nbytes names is_contiguous
    element_size size stride numel dim nelement storage_offset get_device is_floating_point
    training __len__ ndimension""".split()  # noqa: SIM905
)
_IDENTITY: Final = frozenset(("_version", "data_ptr", "untyped_storage", "storage", "_cdata"))


class Values:
    """Follows the expressions of a flow."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._calls = Calls(flow)

    def of(self, node: ast.expr, frame: Frame) -> Value:
        """The labels of an expression, after all that it changes."""
        match node:
            case ast.Constant():
                return NOTHING
            case ast.Name():
                return self._name(node, frame)
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Call():
                return self._calls.value(node, frame)
            case ast.Subscript():
                return self._item(node, frame)
            case ast.BinOp():
                return self._operation(node, frame)
            case ast.IfExp():
                return self._chosen(node, frame)
            case ast.NamedExpr():
                value = self._flow.value(node.value, frame)
                self._flow.bind(node.target, node.value, value, frame)
                return value
            case ast.Lambda() | ast.JoinedStr():
                return NOTHING
            case ast.List() | ast.Dict() | ast.Set():
                here, parts = self._flow.place(node), self._parts(node, frame)
                self._flow.write(here, self._flow.data(parts), node)
                return here | parts
            case _:
                return self._parts(node, frame)

    def _parts(self, node: ast.expr, frame: Frame) -> Value:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for loop in node.generators:
                self._flow.through(loop.target, loop.iter, frame)
            elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return NOTHING.union(*(self._flow.value(part, frame) for part in elements))
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        values = [self._flow.value(part, frame) for part in parts]
        if isinstance(node, ast.Compare | ast.UnaryOp):
            found = self._flow.data(*values)
            if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
                found |= {"choice"}
            return found | {"op"} if is_tensor(found) else found
        return NOTHING.union(*values)

    def _name(self, node: ast.Name, frame: Frame) -> Value:
        at: Frame | None = frame
        while at is not None:
            if node.id in at.values:
                return at.values[node.id]
            at = at.outer
        place = self._flow.lasting(node, frame)
        return NOTHING if place is None else self._flow.held(place)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        if node.attr in _META:
            return frozenset(("meta",))
        if node.attr in _IDENTITY:
            return frozenset(("id",))
        place = self._flow.lasting(node, frame)
        if isinstance(node.value, ast.Name):
            scope = self._flow.reading.module.scopes[frame.function]
            mine = class_of(node.value.id, scope)
            if place is not None and mine is not None:
                got = self._got(self._flow.reading.names.method(mine, node.attr))
                return self._flow.held(place) if got is None else got
        if place is not None and (place in self._flow.kept or place in self._flow.done.stored):
            return self._flow.held(place)
        return self._flow.value(node.value, frame)

    def _got(self, method: Function | None) -> Value | None:
        """What a property gives; None of what is none."""
        made = () if method is None else method.decorator_list
        origins = {self._flow.reading.names.origin(part) for part in made}
        if method is None or not origins & {"builtins.property", "functools.cached_property"}:
            return None
        place = f"{method.name}()"
        if place in self._flow.kept:
            return self._flow.state(place)
        given = self._flow.enter(method, {}, Frame(method))
        if "functools.cached_property" in origins:
            self._flow.store(place, given, method)
        return given

    def _item(self, node: ast.Subscript, frame: Frame) -> Value:
        place = self._flow.lasting(node, frame)
        if place is not None:
            return self._flow.held(place)
        owner, key = self._flow.value(node.value, frame), self._flow.value(node.slice, frame)
        if any(label.startswith("state:") for label in owner):
            self._flow.done.keyed.append((node, self._flow.data(key)))
        elif any(label.startswith("state:") for label in key):
            return self._flow.made("op", owner, key)  # gathered by what an earlier call left
        return owner | self._flow.data(key) if "choice" in key else owner

    def _operation(self, node: ast.BinOp, frame: Frame) -> Value:
        left, right = self._flow.value(node.left, frame), self._flow.value(node.right, frame)
        if neutral(node) is not None:
            return left | right
        if isinstance(node.op, ast.MatMult):
            return self._flow.made("lib:matmul", left, right)
        found = self._flow.data(left, right)
        return found | {"op"} if is_tensor(found) else found

    def _chosen(self, node: ast.IfExp, frame: Frame) -> Value:
        side = self._flow.side(node.test, frame)
        if side:
            return self._flow.value(node.body if side > 0 else node.orelse, frame)
        return self._flow.value(node.body, frame) | self._flow.value(node.orelse, frame)
