"""Python sources of a solution: parsed once, bounded, and indexed in one walk."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final, TypeVar, cast
from weakref import ReferenceType, ref

from msgspec import Struct, field

from kbsite.alarms.evidence import Evidence, Source

LARGEST = 1_000_000
"""Characters from which a source is not parsed."""

MOST = 150_000
"""Nodes of a tree beyond which it is not looked into."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Owner = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda

_OWNERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_Node = TypeVar("_Node", bound=ast.AST)


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

    def all(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of a kind in it, not in what is defined in it, in order."""
        return cast("list[_Node]", self.nodes.get(kind, []))

    def bind(self, name: str, value: Bound) -> None:
        """Note that a name stands for a value, among others."""
        self.bound.setdefault(name, []).append(value)


class Module(Struct, eq=False):
    """A source with its tree. `problem` says why there is none."""

    source: Source
    tree: ast.Module
    problem: str = ""
    nodes: dict[type[ast.AST], list[ast.AST]] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    scopes: dict[ast.AST, Scope] = field(default_factory=dict)
    """By node that owns one."""
    memo: dict[object, object] = field(default_factory=dict)
    """What is worked out of it once and asked for again."""

    @property
    def file(self) -> str:
        """Its name within the run."""
        return self.source.name

    @property
    def top(self) -> Scope:
        """The scope of the module itself."""
        return self.scopes[self.tree]

    def all(self, kind: type[_Node]) -> list[_Node]:
        """All nodes of a kind, in order."""
        return cast("list[_Node]", self.nodes.get(kind, []))

    def scope(self, node: ast.AST) -> Scope:
        """The innermost scope that a node stands in; of an owner, the one around it."""
        at = self.parents.get(node)
        while at is not None:
            found = self.scopes.get(at)
            if found is not None:
                return found
            at = self.parents.get(at)
        return self.top

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, the innermost first, up to the function or class around it."""
        at = self.parents.get(node)
        while at is not None and at not in self.scopes:
            yield at
            at = self.parents.get(at)

    def forget(self) -> None:
        """Let go of the tree, and of what is known of it."""
        for held in (self.nodes, self.parents, self.scopes, self.memo):
            held.clear()

    def written(self, node: ast.AST) -> str:
        """The text of a node, as it stands in the source."""
        first, last = lines(node)
        rows = rows_of(self.source.text)[first - 1 : last]
        if isinstance(node, ast.expr) and first == last and rows:
            data = rows[0].encode("utf-8", "replace")
            return data[node.col_offset : node.end_col_offset].decode("utf-8", "replace")
        return "\n".join(rows)


def rows_of(text: str) -> list[str]:
    """The lines of a source, as Python and editors count them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def lines(node: ast.AST) -> tuple[int, int]:
    """The first and last line of a node, from 1."""
    first = getattr(node, "lineno", 1)
    return first, getattr(node, "end_lineno", None) or first


def modules(evidence: Evidence) -> tuple[Module, ...]:
    """The Python sources of a run, parsed once for all detectors, solution.py first."""
    held = evidence.shared.get("python")
    if held is None:
        held = tuple(parsed(source) for source in evidence.sources if source.suffix == ".py")
        evidence.shared["python"] = held
        evidence.ends.extend(module.forget for module in held)
    return cast("tuple[Module, ...]", held)


def parsed(source: Source) -> Module:
    """A source with its tree indexed; with an empty tree, and the reason, where it has none."""
    if len(source.text) > LARGEST:
        return _empty(source, f"it is longer than {LARGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text.removeprefix("\ufeff"))
    except SyntaxError as error:
        return _empty(source, f"line {error.lineno or 1} is no Python that can be read")
    except (RecursionError, MemoryError):
        return _empty(source, "it is nested too deeply")
    except ValueError:
        return _empty(source, "it holds characters that no Python source has")
    module = Module(source, tree)
    if not _index(module):
        return _empty(source, f"it has more than {MOST:,} parts")
    return module


def _empty(source: Source, problem: str) -> Module:
    module = Module(source, ast.Module(body=[], type_ignores=[]), problem)
    _index(module)
    return module


def _index(module: Module) -> bool:
    """Fill the indices of a module; False where it is too large."""
    top = module.scopes[module.tree] = Scope(module.tree)
    waiting: list[tuple[ast.AST, Scope]] = [(module.tree, top)]
    nodes, parents, seen = module.nodes, module.parents, 0
    while waiting:
        node, scope = waiting.pop()
        seen += 1
        if seen > MOST:
            return False
        kind = type(node)
        for held in (nodes, scope.nodes):
            known = held.get(kind)
            if known is None:
                held[kind] = [node]
            else:
                known.append(node)
        if kind in _BINDERS:
            _BINDERS[kind](node, scope)
        inside = _opened_scope(module, node, scope) if kind in _OWNERS else scope
        below: list[tuple[ast.AST, Scope]] = []
        for name in _fields(kind):
            _gather(getattr(node, name, None), scope if name in _AROUND else inside, below)
        for child, _ in below:
            parents[child] = node
        below.reverse()
        waiting += below
    return True


def _opened_scope(module: Module, node: ast.AST, scope: Scope) -> Scope:
    assert isinstance(node, _OWNERS)
    inside = Scope(node, scope)
    scope.held.append(ref(inside))
    module.scopes[node] = inside
    _parameters(node, inside)
    return inside


def _gather(value: object, scope: Scope, below: list[tuple[ast.AST, Scope]]) -> None:
    if type(value) is list:
        below += [(child, scope) for child in value if isinstance(child, ast.AST)]
    elif isinstance(value, ast.AST):
        below.append((value, scope))


_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes worth a look."""
    known = _FIELDS.get(kind)
    if known is None:
        leaf = kind is ast.Constant or kind is ast.Name
        known = () if leaf else tuple(name for name in kind._fields if name not in _PLAIN)
        _FIELDS[kind] = known
    return known


_AROUND = {"decorator_list", "bases", "keywords"}
"""Fields of a definition that are worked out outside of it."""

_PLAIN = {"ctx", "op", "ops", "id", "attr", "arg", "type_comment", "name", "names", "level",
          "is_async", "simple", "conversion"}  # fmt: skip
"""Fields that hold no nodes, or signs that a look at their owner shows."""


def _parameters(node: ast.AST, scope: Scope) -> None:
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


_BINDERS = {
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
