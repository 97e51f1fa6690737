"""Where native code stands in a run: in files of its own, and in texts within Python."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, cast

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.native.unit import NativeSource
from kbsite.alarms.python.module import Module, Part, lines, modules
from kbsite.alarms.python.names import Names, names

LONGEST: Final = 400_000
"""Characters of native code that are looked into, of one source: no person writes as many."""

MOST: Final = 100
"""Native sources of a run that are looked into."""

_SUFFIXES: Final = frozenset(
    (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".hip", ".inl", ".ptx")
)
_NATIVE: Final = re.compile(
    r"""__global__|__device__|\#\s*(?:include|define|pragma)\b|extern\s+"C"|PYBIND11_MODULE
    |TORCH_LIBRARY|\b(?:torch|at)::Tensor\b|\.visible\s+\.entry|\.version\s+\d|<<<|\bcuda[A-Z]\w+\(""",
    re.VERBOSE,
)
_ASSEMBLY: Final = re.compile(
    r"""(?:^|[;{}\s])(?:@!?%?\w+\s+)?(?:mov|ld|st|cvt|mma|prefetch|createpolicy|add|fma|mul|wgmma|cp|red|atom
    |lop3|prmt|ldmatrix|griddepcontrol|bar|membar|fence|discard)\.[\w.:]+""",
    re.VERBOSE,
)
_HINTS: Final = ("asm", "\\x", "b64", "fromhex", "rot13", "rot_13")
_SINKS: Final = ("inline_asm_elementwise", "inline_asm")
_UNKNOWN: Final = "_"
_DEEPEST: Final = 30
_STEPS: Final = 200_000
"""What may be put together of one Python source: a step an expression and 64 characters."""


def native_sources(evidence: Evidence) -> tuple[NativeSource, ...]:
    """All native code of a run, in the order of its files."""
    held = evidence.shared.get("native")
    if not isinstance(held, tuple):
        held = tuple(_all(evidence))[:MOST]
        evidence.shared["native"] = held
    return held


def _all(evidence: Evidence) -> Iterator[NativeSource]:
    for source in evidence.sources:
        if source.suffix in _SUFFIXES:
            text, ptx = source.text[:LONGEST], source.suffix == ".ptx"
            yield NativeSource(source.name, text, (), ptx, is_cut=len(source.text) > LONGEST)
    for module in modules(evidence):
        yield from within(module)


def within(module: Module) -> Iterator[NativeSource]:
    """The native code in the texts of a Python source, each text once, the largest parts whole."""
    text = module.source.text
    if not _NATIVE.search(text) and not any(word in text for word in _HINTS):
        return
    reader = _Reader(module)
    for node in _texts(module):
        if id(node) in reader.used:
            continue
        text = reader.text(node)
        ptx = _is_assembly(module, node, text)
        if ptx or _NATIVE.search(text):
            reader.mark(node)
            cut = len(text) >= LONGEST
            text = text[:LONGEST]
            yield NativeSource(module.file, text, _lines(module, node, text), ptx, is_cut=cut)


def _texts(module: Module) -> Iterator[ast.expr]:
    """Expressions that may be texts: those put together first, then the plain ones."""
    puts: tuple[type[ast.expr], ...] = (ast.BinOp, ast.Call, ast.JoinedStr)
    for kind in puts:
        for node in module.all(kind):
            if not isinstance(node, ast.Call) or _makes_text(node):
                yield node
    for plain in module.all(ast.Constant):
        if isinstance(plain.value, str) and len(plain.value) > 8:
            above = module.parents.get(plain)
            if not isinstance(above, ast.Expr):
                yield plain


_MAKERS: Final = frozenset(
    ("replace", "join", "format", "dedent", "strip", "lstrip", "rstrip", "decode", "b64decode",
     "substitute", "safe_substitute", "render", "Template", "removeprefix", "fromhex", "indent")
)  # fmt: skip


def _makes_text(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name):
        name = node.func.id
    return name in _MAKERS


def _is_assembly(module: Module, node: ast.expr, text: str) -> bool:
    above = module.parents.get(node)
    if isinstance(above, ast.keyword):
        above = module.parents.get(above)
    if isinstance(above, ast.Call):
        called = above.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in _SINKS:
            return True
    if ".visible" in text and ".entry" in text:
        return True
    return not _NATIVE.search(text) and len(_ASSEMBLY.findall(text)) >= 1 and ";" in text


class _Reader:
    """Puts texts together of what a source writes, as far as that can be told."""

    def __init__(self, module: Module) -> None:
        self._names: Names = names(module)
        self.used: set[int] = set()
        self._left = _STEPS
        self._open: set[int] = set()
        """What is being put together: a text that grows in a loop is made of itself."""

    def mark(self, node: ast.expr) -> None:
        """Note that a text is taken, with all that it is made of."""
        waiting: list[tuple[ast.AST, int]] = [(node, 0)]
        while waiting:
            one, depth = waiting.pop()
            if id(one) in self.used or depth > _DEEPEST:
                continue
            self.used.add(id(one))
            target = self._followed(one) if isinstance(one, ast.Name) else None
            if target is not None:
                waiting.append((target, depth + 1))
            waiting += ((child, depth + 1) for child in ast.iter_child_nodes(one))

    def text(self, node: ast.AST, depth: int = 0) -> str:
        """The text of an expression; `_` stands for each part that cannot be told."""
        if depth > _DEEPEST or id(node) in self._open or self._left <= 0:
            return _UNKNOWN
        self._open.add(id(node))
        text = self._text(node, depth)
        self._open.discard(id(node))
        self._left -= 1 + len(text) // 64
        return text

    def _text(self, node: ast.AST, depth: int) -> str:
        match node:
            case ast.Constant(value=str() | int() | float() as value):
                return str(value)
            case ast.BinOp() | ast.JoinedStr() | ast.FormattedValue():
                return self._put_together(node, depth + 1)[:LONGEST]
            case ast.Name():
                return self.text(self._followed(node) or ast.Constant(_UNKNOWN), depth + 1)
            case ast.Call():
                return (self._names.text(node) or self._called(node, depth + 1))[:LONGEST]
            case _:
                known = self._names.text(node) if isinstance(node, ast.expr) else None
                return known or _UNKNOWN

    def _put_together(
        self, node: ast.BinOp | ast.JoinedStr | ast.FormattedValue, depth: int
    ) -> str:
        match node:
            case ast.JoinedStr(values=values):
                return "".join(self.text(value, depth) for value in values)
            case ast.FormattedValue(value=value):
                return self.text(value, depth)
            case ast.BinOp(op=ast.Add()):
                return "".join(self.text(part, depth) for part in _summands(node))
            case ast.BinOp(left=left):
                return self._names.text(node) or self.text(left, depth)

    def _followed(self, node: ast.Name) -> ast.expr | None:
        scope = self._names.module.scope(node)
        for bound in reversed(self._names.bindings(node.id, scope)):
            if isinstance(bound, ast.expr) and bound is not node and id(bound) not in self._open:
                return bound
        return None

    def _replacements(self, old: ast.expr, new: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What is replaced by what: a pair, or all those that a loop goes over."""
        looped = self._looped(old) if isinstance(old, ast.Name) else None
        match looped:
            case ast.Dict(keys=keys, values=values):
                return [(key, value) for key, value in zip(keys, values, strict=True) if key]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                pairs = [item.elts for item in items if isinstance(item, ast.Tuple | ast.List)]
                return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
            case _:
                return [(old, new)]

    def _looped(self, node: ast.Name) -> ast.expr | None:
        """What the loop goes over that gives a name its value."""
        bound = self._names.bindings(node.id, self._names.module.scope(node))
        for part in bound:
            if isinstance(part, Part):
                whole = part.whole
                if isinstance(whole, ast.Call) and isinstance(whole.func, ast.Attribute):
                    whole = whole.func.value
                return self._followed(whole) if isinstance(whole, ast.Name) else whole
        return None

    def _called(self, node: ast.Call, depth: int) -> str:
        """The text that a call gives, if it only puts texts together."""
        match node:
            case ast.Call(func=ast.Name(), args=[first, *_]) if _makes_text(node):
                return self.text(first, depth)
            case ast.Call(
                func=ast.Attribute(value=owner, attr="join"),
                args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
            ):
                return self.text(owner, depth).join(self.text(part, depth) for part in parts)
            case ast.Call(func=ast.Attribute(value=owner, attr="replace"), args=[old, new]):
                text = self.text(owner, depth)
                for mark, value in self._replacements(old, new):
                    text = _replaced(text, self.text(mark, depth), self.text(value, depth))
                return text
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _TAKERS:
                return self.text(first, depth)
            case ast.Call(func=ast.Attribute(value=owner)) if _makes_text(node):
                return self.text(owner, depth)
            case _:
                return _UNKNOWN


def _summands(node: ast.expr) -> list[ast.expr]:
    """What is added up, from the left."""
    found: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


_TAKERS: Final = frozenset(("dedent", "indent", "b64decode", "Template"))


def _replaced(text: str, old: str, new: str) -> str:
    grown = len(text) + text.count(old) * len(new) if old else LONGEST
    return text.replace(old, new) if grown < LONGEST else text


_OPENING: Final = re.compile(
    r"""^\s*(?:[\w.]+\s*[=(,+]\s*)*\(?\s*[rRbBfFuU]{0,2}(?:\"{3}|'{3}|\"|')"""
)
_LONGEST_ROW: Final = 500
_CLOSING: Final = re.compile(r"""(?:\\n)?(?:\"{3}|'{3}|\"|')?[\s,)+\\]*$""")


_Rows = tuple[list[str], dict[str, list[int]]]


def _rows(module: Module) -> _Rows:
    """The lines of a Python source, and where each stands, with the signs of a text or without."""
    held = module.memo.get("native rows")
    if held is None:
        rows = module.source.text.split("\n")
        where: dict[str, list[int]] = {}
        for number, row in enumerate(rows, 1):
            where.setdefault(row.strip(), []).append(number)
            if len(row) < _LONGEST_ROW and ('"' in row or "'" in row):
                begun = _OPENING.sub("", row)
                where.setdefault(begun.strip(), []).append(number)
                where.setdefault(_CLOSING.sub("", begun).strip(), []).append(number)
        held = module.memo["native rows"] = (rows, where)
    return cast("_Rows", held)


def _lines(module: Module, node: ast.expr, text: str) -> tuple[int, ...]:
    """For each line of a text the line of the file that wrote it.

    The lines are looked for where the text is written, in their order; one that is written in
    another way stands where the one before it does, or where the text is put together.
    """
    rows, where = _rows(module)
    first, last = lines(node)
    last = min(last, len(rows))
    found, at = [], first
    for line in text.split("\n"):
        held = where.get(line.strip(), ()) if line.strip() else ()
        at = _placed(held, at, first, last)
        alike = not held and at < len(rows) and _begins_alike(rows[at], line)
        at += alike
        written = held or alike or first <= at <= last or not line.strip()
        found.append(at if written else first)
    return tuple(found)


def _begins_alike(row: str, line: str) -> bool:
    """Whether a line may have been written so, with parts of it filled in."""
    beginning = line.strip()[:4]
    return len(beginning) == 4 and row.strip().startswith(beginning)


def _placed(candidates: list[int] | tuple[()], at: int, first: int, last: int) -> int:
    """The candidate that goes on from a line: the next within the text, else the next at all."""
    low, high = bisect_left(candidates, first), bisect_right(candidates, last)
    if low == high:
        low, high = 0, len(candidates)
    following = bisect_left(candidates, at, low, high)
    if following < high:
        return candidates[following]
    return candidates[low] if low < high else at
