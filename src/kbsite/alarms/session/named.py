"""Names in Python code, as they are spelled and as what they stand for."""

from __future__ import annotations

import ast
from collections import Counter

LONGEST_NAMED = 2000
"""Characters of a text that is put in the place of its name."""

MOST_DOTS = 8
"""Of an imported name that is put in the place of another one."""


class _Named(ast.NodeTransformer):
    """Puts texts, paths and what was imported in the place of names that mean nothing else."""

    def __init__(self, tree: ast.AST) -> None:
        self._texts: dict[str, ast.expr] = {}
        self._imported: dict[str, str] = {}
        stored = Counter(
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        )
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                    self._keep(name, value)
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case _:
                    pass
        self._imported = {k: v for k, v in self._imported.items() if not stored[k]}

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        module = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
        for one in node.names:
            meant = f"{module}{one.name}"
            if (module or one.asname) and meant.count(".") < MOST_DOTS:
                self._imported[one.asname or one.name] = meant

    def _keep(self, name: str, value: ast.expr) -> None:
        text = text_of(value)
        if 0 < len(text) < LONGEST_NAMED:
            path = ast.Constant(text)
            called = isinstance(value, ast.Call)
            func = ast.Name("Path", ast.Load())
            self._texts[name] = ast.Call(func, [path], []) if called else path

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The module that a call imports, by its name; else the call."""
        self.generic_visit(node)
        if dotted(node.func) in ("__import__", "importlib.import_module"):
            name = text_of(node.args[0]) if node.args else ""
            if name.isidentifier():
                return ast.Name(name, ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """What a name stands for: a text, or what was imported by it; else the name."""
        if not isinstance(node.ctx, ast.Load):
            return node
        meant = self._imported.get(node.id)
        return _spelled(meant) if meant else self._texts.get(node.id, node)


def _spelled(dotted: str) -> ast.expr:
    """A name with dots in it, as code spells it."""
    first, *others = dotted.split(".")
    made: ast.expr = ast.Name(first, ast.Load())
    for one in others:
        made = ast.Attribute(made, one, ast.Load())
    return made


def with_texts(tree: ast.AST) -> ast.AST:
    """The same code with texts in the place of names; as it is where it is nested too deeply."""
    try:
        named: ast.AST = _Named(tree).visit(tree)
    except RecursionError:
        return tree
    return named


def dotted(node: ast.AST) -> str:
    """A name with the attributes that are taken from it; empty where it is none."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call) and names:
        return ".".join(reversed([*names, dotted(node.func)]))
    return ".".join(reversed([*names, node.id])) if isinstance(node, ast.Name) else ""


def text_of(node: ast.AST | None) -> str:
    """The text of a constant, of one put together, or of os.path.join and Path of such."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or "{}" for value in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
            sign = "/" if isinstance(op, ast.Div) else ""
            texts = (text_of(left), text_of(right))
            return sign.join(texts) if all(texts) else ""
        case ast.Call(func=func, args=[*args]) if dotted(func).endswith(
            ("path.join", "Path", "expanduser", "str")
        ):
            return "/".join(filter(None, map(text_of, args)))
        case _:
            return ""
