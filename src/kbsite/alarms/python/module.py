"""Python sources of a solution: parsed once, bounded, and indexed in one walk."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final, cast
from weakref import ref

from msgspec import Struct, field

from kbsite.alarms.evidence import Evidence, Source
from kbsite.alarms.python.scopes import BINDERS, OWNERS, Node, Scope, bind_parameters

LARGEST = 1_000_000
"""Characters from which a source is not parsed."""

MOST = 150_000
"""Nodes of a tree beyond which it is not looked into."""


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

    def all(self, kind: type[Node]) -> list[Node]:
        """All nodes of a kind, in order."""
        return cast("list[Node]", self.nodes.get(kind, []))

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
        if kind in BINDERS:
            BINDERS[kind](node, scope)
        inside = _opened_scope(module, node, scope) if kind in OWNERS else scope
        below: list[tuple[ast.AST, Scope]] = []
        for name in _fields(kind):
            _gather(getattr(node, name, None), scope if name in _AROUND else inside, below)
        for child, _ in below:
            parents[child] = node
        below.reverse()
        waiting += below
    return True


def _opened_scope(module: Module, node: ast.AST, scope: Scope) -> Scope:
    assert isinstance(node, OWNERS)
    inside = Scope(node, scope)
    scope.held.append(ref(inside))
    module.scopes[node] = inside
    bind_parameters(node, inside)
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
