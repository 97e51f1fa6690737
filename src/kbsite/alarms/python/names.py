"""What the names of a source stand for: dotted origins, through imports, aliases and lookups.

An origin is `torch.matmul` for what is imported or reached from there, `local:f` for what the
source defines, `?` for what a caller gives; `()` behind it is what a call of it gives, `[]` an item
of it. `?.mm` is so a method of a value that is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from kbsite.alarms.python.callers import arguments
from kbsite.alarms.python.constants import DEEPEST, Constants
from kbsite.alarms.python.lookups import UNKNOWN, looked_up, spread
from kbsite.alarms.python.module import Module
from kbsite.alarms.python.ops import FAMILY
from kbsite.alarms.python.pieces import Value
from kbsite.alarms.python.scopes import (
    Bound,
    Definition,
    Function,
    Parameter,
    Part,
    Scope,
    class_of,
)

LOCAL: Final = "local:"

LONGEST: Final = 400
"""Characters of an origin; a longer one is not known."""

_SPACES: Final = frozenset(("builtins.vars", "builtins.globals", "builtins.locals"))
FEW: Final = 24
"""Values that a name may stand for that are looked at."""

_ALSO: Final = {"builtins.__builtins__": "builtins", "builtins.type()": UNKNOWN}
"""Where attributes of these come from: those of a type are its objects'."""

_COPIES: Final = frozenset(
    ("builtins.list", "builtins.tuple", "builtins.dict", "builtins.reversed", "builtins.set",
     "builtins.iter", "types.MappingProxyType", "collections.OrderedDict", "types.SimpleNamespace")
)  # fmt: skip
"""What holds the same things as the literal that it is given."""

_BUILTINS: Final = frozenset(
    ("getattr", "setattr", "delattr", "hasattr", "__import__", "eval", "exec", "compile", "vars",
     "globals", "locals", "open", "print", "id", "chr", "ord", "str", "int", "bytes", "bytearray",
     "float", "bool", "len", "min", "max", "sum", "abs", "hash", "reversed", "map", "staticmethod",
     "classmethod", "exit", "quit", "input", "breakpoint", "super", "type", "isinstance", "range",
     "enumerate", "zip", "tuple", "list", "dict", "set", "any", "all", "sorted", "round", "pow",
     "property", "object", "iter", "next", "repr", "callable", "__builtins__", "memoryview",
     "Exception", "BaseException", "ImportError", "ModuleNotFoundError", "RuntimeError",
     "SystemExit", "AttributeError", "filter", "slice", "dir", "format", "divmod", "frozenset")
)  # fmt: skip


class Names:
    """The names of one source."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.constants = Constants(self._follow, self.origin)
        self._memo: dict[ast.expr, str] = {}
        self._values: dict[ast.expr, Value | None] = {}
        self._open: set[ast.AST] = set()

    def origin(self, node: ast.expr) -> str:
        """What an expression denotes; `?` where that cannot be told."""
        known = self._memo.get(node)
        if known is not None:
            return known
        if node in self._open or len(self._open) > DEEPEST:
            return UNKNOWN
        self._open.add(node)
        found = self._worked_out(node)
        self._open.discard(node)
        if len(found) > LONGEST:
            found = UNKNOWN
        self._memo[node] = found
        return found

    def value(self, node: ast.expr) -> Value | None:
        """The text or number that an expression is put together to; None if it is not constant."""
        if node not in self._values:
            self._values[node] = self.constants.value(node)
        return self._values[node]

    def text(self, node: ast.expr) -> str | None:
        """The text that an expression is put together to; None if it is none."""
        value = self.value(node)
        return value if isinstance(value, str) else None

    def definition(self, origin: str) -> Definition | None:
        """What the source defines under an origin such as `local:Model.forward`."""
        return self._definitions.get(origin)

    def method(self, held: Scope, name: str) -> Function | None:
        """The method of a class, its own or of a base that the source defines."""
        for candidate in self._lineage(held):
            for bound in candidate.bound.get(name, ()):
                if isinstance(bound, ast.FunctionDef | ast.AsyncFunctionDef):
                    return bound
        return None

    def called(self, node: ast.Call) -> Definition | None:
        """The function or class of this source that a call is of, if it is of one."""
        return self.definition(self.origin(node.func))

    @property
    def _definitions(self) -> dict[str, Definition]:
        held = self.module.memo.get("definitions")
        if held is None:
            found: list[Definition] = [
                *self.module.all(ast.FunctionDef),
                *self.module.all(ast.AsyncFunctionDef),
                *self.module.all(ast.ClassDef),
            ]
            held = {self.path(node): node for node in found}
            self.module.memo["definitions"] = held
        return held  # type: ignore[return-value]

    def path(self, node: Definition) -> str:
        """The origin of something that the source defines."""
        scope = self.module.scope(node)
        within = scope.node
        if isinstance(within, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return f"{self.path(within)}.{node.name}"
        return f"{LOCAL}{node.name}"

    def _worked_out(self, node: ast.expr) -> str:
        match node:
            case ast.Name():
                return self.named(node.id, node)
            case ast.Attribute():
                return self.member(node.value, node.attr)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self.item(node, node.value, node.slice)
            case ast.IfExp():
                return self._first((node.body, node.orelse))
            case ast.BoolOp():
                return self._first(node.values)
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.origin(node.value)
            case _:
                return UNKNOWN

    def _scope(self, node: ast.AST) -> Scope:
        return self.module.scope(node)

    def _first(self, nodes: Iterable[ast.expr]) -> str:
        return next((o for o in map(self.origin, nodes) if o != UNKNOWN), UNKNOWN)

    def _heaviest(self, nodes: Iterable[ast.expr]) -> str:
        """Of what may be meant, that which a problem may forbid, else the first that is known."""
        known = [o for o in map(self.origin, nodes) if o != UNKNOWN]
        heavy = (o for o in known if o.rpartition(".")[2] in FAMILY)
        return next(heavy, (*known, UNKNOWN)[0])

    def bindings(self, name: str, scope: Scope) -> list[Bound]:
        """All that a name stands for in a scope; empty if nothing in the source binds it."""
        at: Scope | None = scope
        while at is not None:
            if (at is scope or not isinstance(at.node, ast.ClassDef)) and name not in at.shared:
                found = at.bound.get(name)
                if found:
                    return found
            at = at.outer
        return []

    def named(self, name: str, node: ast.expr) -> str:
        """What a name denotes where a node stands."""
        scope = self._scope(node)
        bound = self.bindings(name, scope)
        if not bound:
            return self._starred(name) or (f"builtins.{name}" if name in _BUILTINS else UNKNOWN)
        for value in bound[:FEW]:
            found = UNKNOWN if value is node else self._bound(value)
            if found != UNKNOWN:
                return found
        first = bound[0]
        return self._given(first, scope) if isinstance(first, Parameter) else UNKNOWN

    def handed(self, node: ast.Name) -> list[ast.expr]:
        """What a parameter or the name of a loop may stand for, as the source itself shows."""
        scope = self._scope(node)
        first = next(iter(self.bindings(node.id, scope)), None)
        if isinstance(first, Part):
            held = self._container(first.whole)
            return [] if held is None or isinstance(held, ast.Dict) else held.elts[:FEW]
        return arguments(self.module, first, scope) if isinstance(first, Parameter) else []

    def _given(self, parameter: Parameter, scope: Scope) -> str:
        """What those who call a function give it, where that is something of others."""
        for given in arguments(self.module, parameter, scope):
            found = self.origin(given)
            if not found.startswith((UNKNOWN, LOCAL, "builtins.")) and "(" not in found:
                return found
        return UNKNOWN

    def _starred(self, name: str) -> str:
        """Where a name comes from that `from x import *` may have brought."""
        for value in self.module.top.bound.get("*", ()):
            if isinstance(value, str):
                return f"{value.removesuffix('*')}{name}"
        return ""

    def _bound(self, value: Bound) -> str:
        match value:
            case str():
                return value
            case Part():
                return self._part(value)
            case Parameter():
                return UNKNOWN
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self.path(value)
            case ast.Tuple():
                return self._first(value.elts)
            case _:
                return self.origin(value)

    def _part(self, part: Part) -> str:
        """One of the items of a literal, the first that is known; else an item of something."""
        held = self._container(part.whole)
        if held is not None:
            items = list(held.values if isinstance(held, ast.Dict) else held.elts)
            inner = [i for item in items if isinstance(item, ast.Tuple) for i in item.elts]
            return self._heaviest([*items, *inner][:FEW])
        found = self.origin(part.whole)
        return f"{found}[]" if found != UNKNOWN else UNKNOWN

    def member(self, owner: ast.expr, name: str) -> str:
        """An attribute of what an expression denotes."""
        if isinstance(owner, ast.Name):
            held = class_of(owner.id, self._scope(owner))
            if held is not None:
                return self._of_class(held, name)
        base = self.origin(owner)
        if base.startswith(LOCAL):
            return self._of_local(base, name)
        return f"{_ALSO.get(base, base)}.{name}"

    def _of_local(self, base: str, name: str) -> str:
        """An attribute of a class of the source, or of an object of it."""
        found = self.definition(base.removesuffix("()"))
        if isinstance(found, ast.ClassDef):
            return self._of_class(self.module.scopes[found], name)
        return f"{base}.{name}"

    def _of_class(self, held: Scope, name: str) -> str:
        for candidate in self._lineage(held):
            values = [*candidate.attributes.get(name, ()), *candidate.bound.get(name, ())]
            for value in values[:FEW]:
                found = self._bound(value)
                if found != UNKNOWN:
                    return found
        return f"{UNKNOWN}.{name}"

    def _lineage(self, held: Scope, depth: int = 0) -> list[Scope]:
        """A class and its bases, as far as the source defines them."""
        found = [held]
        if depth < 5 and isinstance(held.node, ast.ClassDef):
            for base in held.node.bases:
                known = self.definition(self.origin(base))
                if isinstance(known, ast.ClassDef):
                    found += self._lineage(self.module.scopes[known], depth + 1)
        return found

    def _call(self, node: ast.Call) -> str:
        called, given = self.origin(node.func), spread(node.args)
        made = self._maker(node.func)
        if isinstance(made, ast.Call) and self.origin(made.func) == "functools.partial":
            given = spread(made.args)[1:] + given
        if isinstance(made, ast.Lambda):
            return self._first((made.body, *given))
        found = looked_up(self, node, called, given)
        return found or (self._returned(called) if called.startswith(LOCAL) else f"{called}()")

    def _maker(self, node: ast.expr) -> ast.expr | None:
        """What gives the thing that is called, where that is an expression of the source."""
        return self._follow(node) if isinstance(node, ast.Name) else node

    def _returned(self, called: str) -> str:
        """What a function of the source gives, where that is something of others."""
        found = self.definition(called)
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            for back in self.module.scopes[found].all(ast.Return)[:8]:
                value = UNKNOWN if back.value is None else self.origin(back.value)
                if not value.startswith(UNKNOWN) and not value.startswith("builtins."):
                    return value
        return f"{called}()"

    def item(self, node: ast.expr, owner: ast.expr, key: ast.expr) -> str:
        """An item of what an expression denotes; `node` says where it is asked for."""
        base, name = self.origin(owner), self.text(key)
        space = base.removesuffix("()")
        if name is not None and (space in _SPACES or base.endswith(".__dict__")):
            return self._of_space(node, owner, name)
        if name is not None and base in ("sys.modules", "builtins.__builtins__"):
            return name if base == "sys.modules" else f"builtins.{name}"
        held = self._container(owner)
        if held is not None:
            found = self._member(held, name, key)
            if found != UNKNOWN:
                return found
        return f"{base}[]" if base != UNKNOWN else UNKNOWN

    def _of_space(self, node: ast.expr, owner: ast.expr, name: str) -> str:
        base = self.origin(owner)
        if base.endswith(".__dict__"):
            return f"{base.removesuffix('.__dict__')}.{name}"
        if isinstance(owner, ast.Call) and owner.args:
            return f"{self.origin(owner.args[0])}.{name}"
        return self.named(name, node)

    def _container(self, node: ast.expr, depth: int = 0) -> ast.Dict | ast.List | ast.Tuple | None:
        target = self._follow(node) if isinstance(node, ast.Name | ast.Attribute) else node
        if isinstance(target, ast.Call) and depth < 4:
            return self._contained(target, depth)
        return target if isinstance(target, ast.Dict | ast.List | ast.Tuple) else None

    def _contained(self, made: ast.Call, depth: int) -> ast.Dict | ast.List | ast.Tuple | None:
        """The literal that `list`, `dict` and the like are given."""
        if self.origin(made.func) not in _COPIES:
            return None
        if made.args:
            return self._container(made.args[0], depth + 1)
        keys = [ast.Constant(k.arg) for k in made.keywords if k.arg]
        return ast.Dict(keys=[*keys], values=[k.value for k in made.keywords if k.arg])

    def _member(
        self, held: ast.Dict | ast.List | ast.Tuple, key: str | None, place: ast.expr
    ) -> str:
        """An item of a literal; the first one that is known where the key is not."""
        if isinstance(held, ast.Dict):
            pairs = zip(held.keys, held.values, strict=True)
            exact = [v for k, v in pairs if key is not None and k and self.text(k) == key]
            return self._first(exact) if exact else self._heaviest(held.values[:FEW])
        at = self.value(place)
        if isinstance(at, int) and 0 <= at < len(held.elts):
            return self.origin(held.elts[at])
        return self._heaviest(held.elts[:FEW])

    def _follow(self, node: ast.expr) -> ast.expr | None:
        """The one expression that a name or attribute stands for; None if it is not one."""
        values: list[Bound]
        if isinstance(node, ast.Name):
            values = list(self.bindings(node.id, self._scope(node)))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            held = class_of(node.value.id, self._scope(node))
            if held is None:
                return None
            values = [*held.attributes.get(node.attr, ()), *held.bound.get(node.attr, ())]
        else:
            return None
        found = [v for v in values if isinstance(v, ast.expr) and v is not node]
        found = [v for v in found if not (isinstance(v, ast.Constant) and v.value is None)]
        return found[0] if len(found) == 1 == len(values) - _nones(values) else None


def _nones(values: Iterable[Bound]) -> int:
    return sum(isinstance(v, ast.Constant) and v.value is None for v in values)


def names(module: Module) -> Names:
    """The names of a source, made once."""
    held = module.memo.get("names")
    if not isinstance(held, Names):
        held = Names(module)
        module.memo["names"] = held
    return held
