"""One call of a solution, followed through its functions without running it.

A value is a set of labels: `in:x` for data of a parameter, `meta` for sizes and types, `id` for
addresses, `own:12` for what a kernel launched in line 12 made, `lib:matmul` and `op` for what the
framework made, `empty` and `const` for memory, `state:Model.cache` for what is kept between calls.
`@…` is a place in memory: what is written there reaches all who hold it.

With `kept`, the call is one that finds what an earlier one stored: tests of that are decided so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kbsite.alarms.python.flow_memory import NOTHING, Frame, Happened, Memory, Value
from kbsite.alarms.python.flow_tests import Decisions
from kbsite.alarms.python.flow_values import Values
from kbsite.alarms.python.reading import Reading
from kbsite.alarms.python.scopes import Function, Parameter, class_of

STEPS: Final = 20_000
"""Expressions that are followed in a call; a source that needs more is left half read."""

DEEPEST: Final = 6
"""Functions within each other that are followed."""

NESTED: Final = 80
"""Expressions and blocks within each other that are followed."""


class Flow(Memory):
    """Follows one call of an entry."""

    def __init__(self, reading: Reading, kept: Iterable[str] = ()) -> None:
        super().__init__(reading)
        self.kept = frozenset(kept)
        self._steps = 0
        self.branches = 0
        """Branches and loops that it is in: what is assigned there may be or not."""
        self._around = 0
        """Branches and loops that the function is called in."""
        self._depth = 0
        self._within = 0
        self._values = Values(self)
        self._decisions = Decisions(self)
        # They know it in turn.
        reading.evidence.ends.append(vars(self).clear)

    def run(self, entry: Function) -> Happened:
        """What a call of an entry does."""
        frame = Frame(entry)
        scope = self.reading.module.scopes[entry]
        for name, bound in scope.bound.items():
            if isinstance(bound[0], Parameter):
                is_self = class_of(name, scope) is not None
                frame.values[name] = NOTHING if is_self else self._given(entry, name, bound)
        self.body(entry.body, frame)
        self.done.returned = frame.returned
        return self.done

    def _given(self, entry: Function, name: str, bound: Sequence[object]) -> Value:
        kept = any(isinstance(value, ast.Dict | ast.List | ast.Set) for value in bound[1:])
        if kept:
            return self.state(f"{entry.name}.{name}")
        self.done.memory[f"@in:{name}"] = {f"in:{name}"}
        return frozenset((f"@in:{name}", f"in:{name}"))

    def body(self, statements: Sequence[ast.stmt], frame: Frame) -> bool:
        """Follow statements; True if none behind them is reached."""
        if self._within > NESTED:
            return False
        self._within += 1
        ended = any(self._statement(statement, frame) for statement in statements)
        self._within -= 1
        return ended

    def _statement(self, node: ast.stmt, frame: Frame) -> bool:
        match node:
            case ast.Return():
                value = NOTHING if node.value is None else self.value(node.value, frame)
                frame.returned.append((node, value))
                return True
            case ast.Assign() if (counting := self.counting(node, frame)) is not None:
                self._augmented(counting, frame)
            case ast.Assign():
                value = self.value(node.value, frame)
                for target in node.targets:
                    self.bind(target, node.value, value, frame)
            case ast.AnnAssign() if node.value is not None:
                self.bind(node.target, node.value, self.value(node.value, frame), frame)
            case ast.AugAssign():
                self._augmented(node, frame)
            case ast.Expr():
                self.value(node.value, frame)
            case ast.If():
                return self._branch(node, frame)
            case ast.Raise() | ast.Continue() | ast.Break():
                return not isinstance(node, ast.Continue | ast.Break)
            case _:
                return self._block(node, frame)
        return False

    def _block(self, node: ast.stmt, frame: Frame) -> bool:
        match node:
            case ast.For() | ast.AsyncFor():
                self.through(node.target, node.iter, frame)
                return self._loop(node.body, frame)
            case ast.While():
                self.done.tests.append((node.test, self.data(self.value(node.test, frame))))
                return self._loop(node.body, frame)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = self.value(item.context_expr, frame)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, item.context_expr, value, frame)
                return self.body(node.body, frame)
            case ast.Try():
                return self._tried(node, frame)
            case ast.Match():
                self.value(node.subject, frame)
                for case in node.cases:
                    self._loop(case.body, frame)
            case _:
                return False
        return False

    def through(self, target: ast.expr, source: ast.expr, frame: Frame) -> None:
        """Bind what a loop goes through: of `zip` and `enumerate`, each part by itself."""
        zipped = isinstance(source, ast.Call) and isinstance(target, ast.Tuple)
        called = self.reading.names.origin(source.func) if isinstance(source, ast.Call) else ""
        if zipped and isinstance(source, ast.Call) and isinstance(target, ast.Tuple):
            parts = list(source.args)
            if called == "builtins.enumerate":
                parts = [ast.Constant(0), *parts[:1]]
            if called in ("builtins.zip", "builtins.enumerate") and len(parts) == len(target.elts):
                for part, given in zip(target.elts, parts, strict=True):
                    self.bind(part, given, self.value(given, frame), frame)
                return
        self.bind(target, source, self.value(source, frame), frame)

    def _tried(self, node: ast.Try, frame: Frame) -> bool:
        ended = self.body(node.body, frame)
        if not self.kept:
            for handler in node.handlers:
                self._loop(handler.body, frame)
        ended = ended or self.body(node.orelse, frame)
        return self.body(node.finalbody, frame) or (ended and bool(self.kept))

    def _loop(self, statements: Sequence[ast.stmt], frame: Frame) -> bool:
        self.branches += 1
        self.body(statements, frame)
        self.branches -= 1
        return False

    def _branch(self, node: ast.If, frame: Frame) -> bool:
        side = self.side(node.test, frame)
        if side:
            return self.body(node.body if side > 0 else node.orelse, frame)
        self.branches += 1
        before = dict(frame.values)
        first = self.body(node.body, frame)
        after = frame.values
        frame.values = before
        second = self.body(node.orelse, frame)
        self.branches -= 1
        if not first:
            _merge(frame.values, after) if not second else frame.values.update(after)
        return first and second

    def side(self, test: ast.expr, frame: Frame) -> int:
        """Follow a test; 1 or -1 for the side that is taken, 0 where it may be either."""
        self.done.tests.append((test, self.data(self.value(test, frame))))
        return self._decisions.side(test, frame) if self.kept else 0

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        before, more = self.value(node.target, frame), self.value(node.value, frame)
        label = "lib:matmul" if isinstance(node.op, ast.MatMult) else "op"
        place = self.lasting(node.target, frame)
        counts = isinstance(node.value, ast.Constant) and place not in self.fresh
        if place is not None and counts:
            self.done.counted.setdefault(place, node)
            self.store(place, frozenset(("count",)), node)
            return
        if any(part[0] == "@" for part in before):
            self.write(before, self.made(label, more), node)
        made = self.made(label, more) if self.data(more) else NOTHING
        self.bind(node.target, node.value, before | made, frame)

    def bind(self, target: ast.expr, source: ast.expr, value: Value, frame: Frame) -> None:
        """Give a value to what is assigned to."""
        match target:
            case ast.Tuple() | ast.List():
                same = isinstance(source, ast.Tuple) and len(source.elts) == len(target.elts)
                for number, part in enumerate(target.elts):
                    if same and isinstance(source, ast.Tuple):
                        given = source.elts[number]
                        self.bind(part, given, self.value(given, frame), frame)
                    else:
                        self.bind(part, source, value, frame)
            case ast.Starred():
                self.bind(target.value, source, value, frame)
            case _:
                place = self.lasting(target, frame)
                if place is not None:
                    self.keep(place, value, target)
                elif isinstance(target, ast.Subscript):
                    self._set_item(target, source, value, frame)
                elif isinstance(target, ast.Name):
                    old = frame.values.get(target.id, NOTHING) if self.branches else NOTHING
                    frame.values[target.id] = value | old

    def keep(self, place: str, value: Value, node: ast.AST) -> None:
        """Note that a place that outlasts the call is set to a value."""
        self.store(place, value, node)
        if not self.branches and not self._around:
            self.fresh[place] = value
        elif place in self.fresh:
            self.fresh[place] |= value

    def _set_item(
        self, target: ast.Subscript, source: ast.expr, value: Value, frame: Frame
    ) -> None:
        owner = self.value(target.value, frame)
        parts = any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))
        parts = parts and not isinstance(source, ast.List | ast.Tuple | ast.ListComp)
        for label in () if parts else owner:
            if label.startswith("state:") and self._is_container(target.value, frame):
                self.store(label.removeprefix("state:"), value, target)
                self.done.keyed.append((target, self.data(self.value(target.slice, frame))))
                return
        self.write(owner, self.made("op", value), target)

    def _is_container(self, node: ast.expr, frame: Frame) -> bool:
        return self.lasting(node, frame) is not None or isinstance(node, ast.Name)

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """The labels of an expression."""
        self._steps += 1
        if self._steps > STEPS or self._within > NESTED:
            return NOTHING
        self._within += 1
        found = self._values.of(node, frame)
        self._within -= 1
        return found

    def enter(self, function: Function, given: Mapping[str, Value], frame: Frame) -> Value:
        """Follow a call of a function of the source; gives what it gives back."""
        if self._depth >= DEEPEST:
            return self.made("call", *given.values())
        self._depth += 1
        around = frame if self._stands_in(function, frame) else None
        inner = Frame(function, dict(given), around)
        branches, self.branches = self.branches, 0
        self._around += branches
        self.body(function.body, inner)
        self._around -= branches
        self.branches = branches
        self._depth -= 1
        return NOTHING.union(*(value for _, value in inner.returned))

    def _stands_in(self, function: Function, frame: Frame) -> bool:
        return self.reading.module.scope(function).node is frame.function


def _merge(values: dict[str, Value], others: Mapping[str, Value]) -> None:
    for name, value in others.items():
        values[name] = values.get(name, NOTHING) | value
