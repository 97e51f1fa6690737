"""What a call that is followed holds and does: values, memory, places that outlast it."""

from __future__ import annotations

import ast
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.python.reading import Reading
from kbsite.alarms.python.scopes import Function, Scope, class_of

Value = frozenset[str]
NOTHING: Final[Value] = frozenset()

GIVEN: Final = ("@in:", "@cast:")
"""What places of inputs start with: their own memory, and what may be a copy of another type."""


class Frame(Struct):
    """A function that is being followed."""

    function: Function
    values: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    returned: list[tuple[ast.AST, Value]] = field(default_factory=list)


class Happened(Struct):
    """What a call did."""

    returned: list[tuple[ast.AST, Value]] = field(default_factory=list)
    stored: dict[str, Value] = field(default_factory=dict)
    """What is kept, by place."""
    stores: dict[str, ast.AST] = field(default_factory=dict)
    """Where that is first done."""
    counted: dict[str, ast.AST] = field(default_factory=dict)
    """Places that are counted up."""
    launched: list[tuple[ast.Call, str, Value]] = field(default_factory=list)
    """Kernels, each with what it wrote to."""
    chosen: list[tuple[ast.AST, Value]] = field(default_factory=list)
    """What kernels are told by the host, apart from memory."""
    replayed: list[tuple[ast.Call, bool]] = field(default_factory=list)
    """Graphs, each with whether inputs were copied in before."""
    unknown: list[ast.Call] = field(default_factory=list)
    """Calls of what nothing is known of: it may write to whatever it can reach."""
    tests: list[tuple[ast.expr, Value]] = field(default_factory=list)
    changed: list[tuple[ast.AST, str]] = field(default_factory=list)
    """Parameters of the solution that are written to."""
    keyed: list[tuple[ast.AST, Value]] = field(default_factory=list)
    """What kept things are looked up by."""
    memory: dict[str, set[str]] = field(default_factory=dict)


class Memory:
    """What is written where, in one call."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.done = Happened()
        self.fresh: dict[str, Value] = {}
        """What this call has set places to, whatever way it went."""
        self.by_graphs: set[str] = set()
        """Labels of what replayed graphs may have written to any place."""

    def state(self, place: str) -> Value:
        """What stands in a place that outlasts the call."""
        mark = f"state:{place}"
        self.done.memory.setdefault(f"@{mark}", {mark, *self.by_graphs})
        return frozenset((f"@{mark}", mark))

    def held(self, place: str) -> Value:
        """What a place holds: what this call has set it to, or what an earlier one left."""
        return self.fresh[place] if place in self.fresh else self.state(place)

    def data(self, *values: Value) -> Value:
        """The labels of values, with those of what they point to."""
        found: set[str] = set()
        for value in values:
            for label in value:
                if label[0] == "@":
                    found |= self.done.memory.get(label, NOTHING)
                else:
                    found.add(label)
        return frozenset(found)

    def made(self, label: str, *values: Value) -> Value:
        """A new value, made of others by something."""
        return self.data(*values) | {label}

    def place(self, node: ast.AST, label: str = "meta") -> Value:
        """New memory."""
        mark = f"@{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
        self.done.memory.setdefault(mark, set()).add(label)
        return frozenset((mark,))

    def copied(self, node: ast.AST, *values: Value) -> Value:
        """New memory that values are copied to."""
        here = self.place(node)
        self.write(here, self.data(*values), node)
        return here

    def cast(self, value: Value) -> Value:
        """A value of another type: where that changes it, inputs are no longer the same memory."""
        marks = {mark for mark in value if mark.startswith("@in:")}
        for mark in marks:
            self.done.memory.setdefault(mark.replace("@in:", "@cast:"), {mark[1:]})
        return value - marks | {mark.replace("@in:", "@cast:") for mark in marks}

    def write(self, target: Value, labels: Value, node: ast.AST) -> None:
        """Note that something is written to where a value points."""
        for label in target:
            if label[0] == "@":
                self.done.memory.setdefault(label, set()).update(labels)
                cleared = label.startswith("@cast:") and "const" in labels
                if label.startswith("@in:") or cleared:
                    self.done.changed.append((node, label.partition(":")[2]))
                elif label.startswith("@state:"):
                    self.store(label.removeprefix("@state:"), labels, node)

    def store(self, place: str, value: Value, node: ast.AST) -> None:
        """Note that a value is kept in a place that outlasts the call."""
        self.done.stored[place] = self.done.stored.get(place, NOTHING) | value
        self.done.stores.setdefault(place, node)

    def counting(self, node: ast.Assign, frame: Frame) -> ast.AugAssign | None:
        """What sets a place to what it held and some more, as an operator in place; else None."""
        match node:
            case ast.Assign(
                targets=[ast.Name() | ast.Attribute() as target],
                value=ast.BinOp(left=left, right=ast.Constant() as more, op=sign),
            ) if _same(target, left):
                place = self.lasting(target, frame)
                counts = place is not None and place not in self.fresh
                made = ast.copy_location(ast.AugAssign(target, sign, more), node)
                return made if counts else None
            case _:
                return None

    def lasting(self, node: ast.expr, frame: Frame) -> str | None:
        """The place that outlasts the call which a name or attribute is; None if it is none."""
        scope = self.reading.module.scopes[frame.function]
        match node:
            case ast.Attribute(value=ast.Name(id=owner)):
                held = class_of(owner, scope)
                return f"{held.name if held else owner}.{node.attr}"
            case ast.Attribute(value=ast.Call(args=[ast.Name(id=owner)]) as made):
                held = class_of(owner, scope)
                kind = self.reading.names.origin(made.func) == "builtins.type"
                return f"{held.name if held and kind else '*'}.{node.attr}"
            case ast.Attribute(value=ast.Attribute(attr="__class__", value=ast.Name(id=owner))):
                held = class_of(owner, scope)
                return f"{held.name if held else '*'}.{node.attr}"
            case ast.Attribute():
                return f"*.{node.attr}"
            case ast.Name():
                return self._outer(node.id, scope, frame)
            case ast.Subscript():
                return self._named(node.value, self.reading.names.text(node.slice), frame)
            case _:
                return None

    def _named(self, space: ast.expr, name: str | None, frame: Frame) -> str | None:
        """The place of a name in a namespace: `globals()`, `vars(…)` or a `__dict__`."""
        match space:
            case ast.Attribute(attr="__dict__") if name is not None:
                return self.lasting(ast.Attribute(space.value, name), frame)
            case ast.Call(args=given) if name is not None:
                origin = self.reading.names.origin(space.func)
                if origin == "builtins.vars" and given:
                    return self.lasting(ast.Attribute(given[0], name), frame)
                return name if origin == "builtins.globals" else None
            case _:
                return None

    def _outer(self, name: str, scope: Scope, frame: Frame) -> str | None:
        """The place of a name of the module, or of a function that has come to its end."""
        if name in scope.bound and name not in scope.shared:
            return None
        running, at = set[ast.AST](), frame.outer
        while at is not None:
            running.add(at.function)
            at = at.outer
        holder = scope.outer
        while holder is not None:
            if name in holder.bound and not isinstance(holder.node, ast.ClassDef):
                if holder.node in running:
                    return None
                kept = any(isinstance(value, ast.expr) for value in holder.bound[name])
                return f"{holder.name}.{name}".lstrip(".") if kept else None
            holder = holder.outer
        return None


def _same(target: ast.expr, left: ast.expr) -> bool:
    """Whether what is assigned to is an attribute or name that the value begins with."""
    match target, left:
        case ast.Name(id=name), ast.Name(id=other):
            return name == other
        case ast.Attribute(value=owner, attr=name), ast.Attribute(value=holder, attr=other):
            return name == other and _same(owner, holder)
        case _:
            return False


def is_tensor(value: Value) -> bool:
    """Whether labels are those of something to work with, no size and no plain number."""
    return any(
        label.startswith(("in:", "own:", "lib:", "op", "state:", "empty")) for label in value
    )
