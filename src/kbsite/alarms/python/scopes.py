"""What names stand for in a Python source: its scopes, and what each of its nodes binds in them."""

from __future__ import annotations

import ast
from typing import TypeVar, cast
from weakref import ReferenceType

from msgspec import Struct, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Owner = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda

OWNERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
"""Nodes that have a scope of their own, but for the module."""

Node = TypeVar("Node", bound=ast.AST)


class Part(Struct, frozen=True):
    """One of the values that an expression gives: of a loop, of an unpacked call."""

    whole: ast.expr


class Parameter(Struct, frozen=True):
    """What a caller gives."""

    name: str
    place: int
    """From 0; the first of a method is the object itself."""


Bound = ast.expr | Definition | Part | Parameter | str
"""What a name stands for: a value, a definition, or what is imported by this dotted name."""


class Scope(Struct, eq=False, weakref=True):
    """A module, class, function or lambda, with what is bound and what stands in it."""

    node: Owner
    outer: Scope | None = None
    bound: dict[str, list[Bound]] = field(default_factory=dict)
    attributes: dict[str, list[ast.expr]] = field(default_factory=dict)
    """Of a class: what its methods assign to their object."""
    shared: set[str] = field(default_factory=set)
    """Names that it declares global or nonlocal."""
    nodes: dict[type[ast.AST], list[ast.AST]] = field(default_factory=dict)
    held: list[ReferenceType[Scope]] = field(default_factory=list)
    """Those within it, which know it in turn: their module holds them."""

    @property
    def inner(self) -> list[Scope]:
        """The scopes that stand in it, in order."""
        return [scope for one in self.held if (scope := one())]

    @property
    def name(self) -> str:
        """What it is called; empty for a module, `lambda` for one without a name."""
        match self.node:
            case ast.Module():
                return ""
            case ast.Lambda():
                return "lambda"
            case _:
                return self.node.name

    def all(self, kind: type[Node]) -> list[Node]:
        """The nodes of a kind in it, not in what is defined in it, in order."""
        return cast("list[Node]", self.nodes.get(kind, []))

    def bind(self, name: str, value: Bound) -> None:
        """Note that a name stands for a value, among others."""
        self.bound.setdefault(name, []).append(value)


def bind_parameters(node: ast.AST, scope: Scope) -> None:
    """Note what a function's parameters stand for in it: what a caller gives, and defaults."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    given = [*placed, *arguments.kwonlyargs]
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    for place, argument in enumerate([*given, *rest]):
        scope.bind(argument.arg, Parameter(argument.arg, place))
    defaults = arguments.defaults
    for argument, value in zip(placed[len(placed) - len(defaults) :], defaults, strict=True):
        scope.bind(argument.arg, value)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            scope.bind(argument.arg, default)


def _assign(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.Assign)
    for target in node.targets:
        _bind(target, node.value, scope)


def _annotated(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.AnnAssign | ast.NamedExpr)
    if node.value is not None:
        _bind(node.target, node.value, scope)


def _augmented(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.AugAssign)
    _bind(node.target, ast.Tuple(elts=[node.target, node.value]), scope)


def _looped(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
    _bind(node.target, Part(node.iter), scope)


def _opened(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.withitem)
    if node.optional_vars is not None:
        _bind(node.optional_vars, node.context_expr, scope)


def _imported(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.Import)
    for alias in node.names:
        whole = alias.name if alias.asname else alias.name.partition(".")[0]
        _bind_name(alias.asname or whole, whole, scope)


def _imported_from(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.ImportFrom)
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        _bind_name(alias.asname or alias.name, f"{base}.{alias.name}".replace("..", "."), scope)


def _shared(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.Global | ast.Nonlocal)
    scope.shared.update(node.names)


def _defined(node: ast.AST, scope: Scope) -> None:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    _bind_name(node.name, node, scope)


def _bind(target: ast.expr, value: ast.expr | Part, scope: Scope) -> None:
    match target:
        case ast.Name():
            _bind_name(target.id, value, scope)
        case ast.Tuple() | ast.List():
            _unpack(target, value, scope)
        case ast.Starred():
            _bind(target.value, value, scope)
        case ast.Attribute(value=ast.Name(id=owner)):
            held = class_of(owner, scope)
            if held is not None:
                whole = value.whole if isinstance(value, Part) else value
                held.attributes.setdefault(target.attr, []).append(whole)
        case _:
            return


def _unpack(target: ast.Tuple | ast.List, value: ast.expr | Part, scope: Scope) -> None:
    plain = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    if plain and not any(isinstance(item, ast.Starred) for item in target.elts):
        assert isinstance(value, ast.Tuple | ast.List)
        for item, part in zip(target.elts, value.elts, strict=True):
            _bind(item, part, scope)
        return
    for item in target.elts:
        _bind(item, value if isinstance(value, Part) else Part(value), scope)


def _bind_name(name: str, value: Bound, scope: Scope) -> None:
    """Bind where the name lives: globals in the module, nonlocals further out."""
    owner = scope
    while name in owner.shared and owner.outer is not None:
        owner = owner.outer
        if name in owner.bound:
            break
    owner.bind(name, value)


def class_of(name: str, scope: Scope) -> Scope | None:
    """The class whose object a name is (`self` of a method), or which it names; else None."""
    at: Scope | None = scope
    while at is not None:
        bound = at.bound.get(name, ())
        if bound:
            first = bound[0]
            around = at.outer
            is_method = around is not None and isinstance(around.node, ast.ClassDef)
            if isinstance(first, Parameter) and first.place == 0 and is_method:
                return around
            if isinstance(first, ast.ClassDef):
                return next((inner for inner in at.inner if inner.node is first), None)
            return None
        at = at.outer
    return None


BINDERS = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.NamedExpr: _annotated,
    ast.AugAssign: _augmented,
    ast.For: _looped,
    ast.AsyncFor: _looped,
    ast.comprehension: _looped,
    ast.withitem: _opened,
    ast.Import: _imported,
    ast.ImportFrom: _imported_from,
    ast.Global: _shared,
    ast.Nonlocal: _shared,
    ast.FunctionDef: _defined,
    ast.AsyncFunctionDef: _defined,
    ast.ClassDef: _defined,
}
"""What notes, of a kind of node, which names it has stand for what."""
