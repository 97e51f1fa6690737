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
from kbsite.alarms.python.constants import DEEPEST, Constants, Value
from kbsite.alarms.python.module import (
    Bound,
    Definition,
    Function,
    Module,
    Parameter,
    Part,
    Scope,
    class_of,
)

UNKNOWN: Final = "?"
LOCAL: Final = "local:"

LONGEST: Final = 400
"""Characters of an origin; a longer one is not known."""

_SAME: Final = {
    "builtins.__import__": "importlib.import_module",
    "importlib.__import__": "importlib.import_module",
}
_GIVES_FIRST: Final = frozenset(
    ("functools.partial", "functools.partialmethod", "builtins.staticmethod",
     "builtins.classmethod", "torch.no_grad()", "torch.inference_mode()", "torch.jit.script",
     "torch.compile", "torch._dynamo.disable", "torch.compiler.disable", "functools.wraps()",
     "functools.lru_cache", "functools.cache", "functools.lru_cache()", "torch.jit.ignore",
     "torch.library.wrap_triton", "torch.jit.export", "triton.jit", "triton.autotune()",
     "triton.heuristics()", "torch.cuda.make_graphed_callables", "torch.library.custom_op()",
     "torch.library.triton_op()")
)  # fmt: skip
"""Calls that give their first argument, as far as a name is concerned."""

_SPACES: Final = frozenset(("builtins.vars", "builtins.globals", "builtins.locals"))
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
                return self._name(node.id, self._scope(node), node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self._item(node)
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

    def _name(self, name: str, scope: Scope, node: ast.expr) -> str:
        bound = self.bindings(name, scope)
        if not bound:
            return self._starred(name) or (f"builtins.{name}" if name in _BUILTINS else UNKNOWN)
        for value in bound[:24]:
            found = UNKNOWN if value is node else self._bound(value)
            if found != UNKNOWN:
                return found
        first = bound[0]
        return self._given(first, scope) if isinstance(first, Parameter) else UNKNOWN

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
            return self._first([*items, *inner][:24])
        found = self.origin(part.whole)
        return f"{found}[]" if found != UNKNOWN else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name):
            held = class_of(node.value.id, self._scope(node))
            if held is not None:
                return self._of_class(held, node.attr)
        base = self.origin(node.value)
        if base.startswith(LOCAL):
            return self._of_local(base, node.attr)
        if base == "builtins.__builtins__":
            return f"builtins.{node.attr}"
        return f"{base}.{node.attr}"

    def _of_local(self, base: str, name: str) -> str:
        """An attribute of a class of the source, or of an object of it."""
        found = self.definition(base.removesuffix("()"))
        if isinstance(found, ast.ClassDef):
            return self._of_class(self.module.scopes[found], name)
        return f"{base}.{name}"

    def _of_class(self, held: Scope, name: str) -> str:
        for candidate in self._lineage(held):
            values = [*candidate.attributes.get(name, ()), *candidate.bound.get(name, ())]
            for value in values[:24]:
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
        called = self.origin(node.func)
        called = _SAME.get(called, called)
        if node.args:
            known = self._by_argument(node, called, node.args[0])
            if known:
                return known
        return self._returned(called) if called.startswith(LOCAL) else f"{called}()"

    def _by_argument(self, node: ast.Call, called: str, first: ast.expr) -> str:
        """What a call gives that depends on its first argument; empty if it does not."""
        match called:
            case "builtins.getattr" if len(node.args) >= 2:
                return self._looked_up(first, node.args[1])
            case "importlib.import_module":
                return self.text(first) or f"{UNKNOWN}()"
            case "operator.attrgetter()":
                return f"{self.origin(first)}.{self._attrgetter(node)}"
            case "torch.nn.utils.skip_init":
                return f"{self.origin(first)}()"
            case "sys.modules.get":
                return self.text(first) or ""
            case "functools.reduce" if len(node.args) > 2:
                return self._reduced(node.args)
            case _:
                found = self.origin(first) if called in _GIVES_FIRST else UNKNOWN
                return "" if found == UNKNOWN else found

    def _reduced(self, given: list[ast.expr]) -> str:
        """`reduce(getattr, names, of)`: an attribute of an attribute."""
        parts = self.value(given[1])
        if self.origin(given[0]) != "builtins.getattr" or not isinstance(parts, tuple):
            return ""
        return ".".join((self.origin(given[2]), *map(str, parts[:20])))

    def _attrgetter(self, node: ast.Call) -> str:
        maker = node.func
        text = self.text(maker.args[0]) if isinstance(maker, ast.Call) and maker.args else None
        return text or UNKNOWN

    def _looked_up(self, owner: ast.expr, name: ast.expr) -> str:
        text = self.text(name)
        base = self.origin(owner)
        if text is None or not text.replace(".", "_").isidentifier():
            return f"{base}.{UNKNOWN}"
        if isinstance(owner, ast.Name):
            held = class_of(owner.id, self._scope(owner))
            if held is not None:
                return self._of_class(held, text)
        return f"{base}.{text}"

    def _returned(self, called: str) -> str:
        """What a function of the source gives, where that is something of others."""
        found = self.definition(called)
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            for back in self.module.scopes[found].all(ast.Return)[:8]:
                value = UNKNOWN if back.value is None else self.origin(back.value)
                if not value.startswith(UNKNOWN) and not value.startswith("builtins."):
                    return value
        return f"{called}()"

    def _item(self, node: ast.Subscript) -> str:
        base = self.origin(node.value)
        key = self.text(node.slice)
        space = base.removesuffix("()")
        if key is not None and (space in _SPACES or base.endswith(".__dict__")):
            return self._of_space(node, base, key)
        if key is not None and base == "sys.modules":
            return key
        held = self._container(node.value)
        if held is not None:
            found = self._member(held, key, node.slice)
            if found != UNKNOWN:
                return found
        return f"{base}[]" if base != UNKNOWN else UNKNOWN

    def _of_space(self, node: ast.Subscript, base: str, key: str) -> str:
        inner = node.value
        if base.endswith(".__dict__"):
            return f"{base.removesuffix('.__dict__')}.{key}"
        if isinstance(inner, ast.Call) and inner.args:
            return f"{self.origin(inner.args[0])}.{key}"
        return self._name(key, self._scope(node), node)

    def _container(self, node: ast.expr) -> ast.Dict | ast.List | ast.Tuple | None:
        target = self._follow(node) if isinstance(node, ast.Name | ast.Attribute) else node
        return target if isinstance(target, ast.Dict | ast.List | ast.Tuple) else None

    def _member(
        self, held: ast.Dict | ast.List | ast.Tuple, key: str | None, place: ast.expr
    ) -> str:
        """An item of a literal; the first one that is known where the key is not."""
        if isinstance(held, ast.Dict):
            pairs = zip(held.keys, held.values, strict=True)
            exact = [v for k, v in pairs if key is not None and k and self.text(k) == key]
            return self._first(exact or held.values[:24])
        at = self.value(place)
        if isinstance(at, int) and 0 <= at < len(held.elts):
            return self.origin(held.elts[at])
        return self._first(held.elts[:24])

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
