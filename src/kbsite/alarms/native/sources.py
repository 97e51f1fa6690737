"""Where native code stands in a run: in files of its own, and in texts within Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from kbsite.alarms.evidence import Evidence, Source
from kbsite.alarms.native.filled import Given, formatted, percented, templated
from kbsite.alarms.native.source import NativeSource
from kbsite.alarms.native.written import lines_of
from kbsite.alarms.python.callers import arguments
from kbsite.alarms.python.module import Module, modules
from kbsite.alarms.python.names import Names, names
from kbsite.alarms.python.scopes import Parameter, Part

LONGEST: Final = 400_000
"""Characters of native code that are looked into, of one source: no person writes as many."""

MOST: Final = 100
"""Native sources of a run that are looked into."""

_SUFFIXES: Final = frozenset(
    (
        ".cu",
        ".cuh",
        ".cpp",
        ".cc",
        ".cxx",
        ".c",
        ".h",
        ".hpp",
        ".hxx",
        ".hip",
        ".inl",
        ".ptx",
        ".inc",
        ".ipp",
        ".tpp",
        ".tcc",
        ".c++",
        ".ixx",
        ".cppm",
        ".h++",
    )
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
    named = " ".join(source.text for source in evidence.sources if source.suffix == ".py")
    for source in evidence.sources:
        if source.suffix in _SUFFIXES or _is_read(source, named):
            text, ptx = source.text[:LONGEST], source.suffix == ".ptx"
            yield NativeSource(source.name, text, (), ptx, is_cut=len(source.text) > LONGEST)
    for module in modules(evidence):
        yield from within(module)


def _is_read(source: Source, python: str) -> bool:
    """Whether a file of another suffix holds native code, and a Python source names it."""
    if source.suffix in (".py", ".md"):
        return False
    name = source.name.rpartition("/")[2].partition(".")[0]
    return name in python and bool(_NATIVE.search(source.text, 0, LONGEST))


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
            yield NativeSource(module.file, text, lines_of(module, node, text), ptx, is_cut=cut)


def _texts(module: Module) -> Iterator[ast.expr]:
    """Expressions that may be texts: those put together first, then the plain ones."""
    puts: tuple[type[ast.expr], ...] = (ast.BinOp, ast.Call, ast.JoinedStr)
    for kind in puts:
        for node in module.all(kind):
            if not isinstance(node, ast.Call) or _makes_text(node):
                yield node
    for grown in module.all(ast.AugAssign):
        if isinstance(grown.op, ast.Add) and isinstance(grown.target, ast.Name):
            yield grown.target
    yield from _plain_texts(module)


def _plain_texts(module: Module) -> Iterator[ast.expr]:
    """Texts as they are written; those that only document, if the source asks for such a one."""
    documents = "__doc__" in module.source.text
    for plain in module.all(ast.Constant):
        usable = documents or not isinstance(module.parents.get(plain), ast.Expr)
        if usable and isinstance(plain.value, str | bytes) and len(plain.value) > 8:
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
        self._parts: dict[tuple[int, str], tuple[ast.expr | None, list[ast.expr]]] = {}
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
            if isinstance(one, ast.Name):
                begin, grown = self._grown(one)
                parts = [begin, *grown] if grown else [self._followed(one)]
                waiting += ((part, depth + 1) for part in parts if part is not None)
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
            case ast.Constant(value=bytes() as value):
                return value.decode("latin-1")
            case ast.BinOp() | ast.JoinedStr() | ast.FormattedValue():
                return self._put_together(node, depth + 1)[:LONGEST]
            case ast.Name():
                return self._named(node, depth + 1)[:LONGEST]
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
            case ast.BinOp(op=ast.Mod(), left=left, right=right):
                known = self._names.text(node)
                if known is None:
                    given = self._given(
                        right.elts if isinstance(right, ast.Tuple) else [right], [], depth
                    )
                    known = percented(self.text(left, depth), given, LONGEST)
                return known
            case ast.BinOp(left=left):
                return self._names.text(node) or self.text(left, depth)

    def _named(self, node: ast.Name, depth: int) -> str:
        """The text that a name stands for, with all that is added to it later."""
        begin, grown = self._grown(node)
        if not grown:
            return self.text(self._followed(node) or ast.Constant(_UNKNOWN), depth)
        texts = [self.text(begin, depth)] if begin is not None else []
        return "".join((*texts, *(self.text(_added(part), depth) for part in grown)))

    def _grown(self, node: ast.Name) -> tuple[ast.expr | None, list[ast.expr]]:
        """What a name is at first, and what `+=` makes of it: pairs of the name and the rest."""
        scope = self._names.module.scope(node)
        known = self._parts.get((id(scope), node.id))
        if known is not None:
            return known
        begin: ast.expr | None = None
        grown: list[ast.expr] = []
        for bound in self._names.bindings(node.id, scope):
            match bound:
                case ast.Tuple(elts=[ast.Name(id=node.id, ctx=ast.Store()), _]):
                    grown.append(bound)
                case ast.expr():
                    begin, grown = bound, []
                case _:
                    continue
        made = self._parts[id(scope), node.id] = begin, grown[:_MOST_PARTS]
        return made

    def _given(self, placed: list[ast.expr], named: list[ast.keyword], depth: int) -> Given:
        """What is given to fill places in, in brackets or as a mapping."""
        mapped = {one.arg: one.value for one in named if one.arg}
        for one in placed:
            held = self._followed(one) if isinstance(one, ast.Name) else one
            if isinstance(held, ast.Dict):
                pairs = zip(held.keys, held.values, strict=True)
                mapped |= {self.text(key, depth): item for key, item in pairs if key}
        return Given(
            [self.text(one, depth) for one in placed[:_MOST_PARTS]],
            {name: self.text(item, depth) for name, item in list(mapped.items())[:_MOST_PARTS]},
        )

    def _followed(self, node: ast.Name) -> ast.expr | None:
        scope = self._names.module.scope(node)
        for bound in reversed(self._names.bindings(node.id, scope)):
            given = [bound] if isinstance(bound, ast.expr) else []
            if isinstance(bound, Parameter):
                given = arguments(self._names.module, bound, scope)[:1]
            for one in given:
                if one is not node and id(one) not in self._open:
                    return one
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
            case ast.Call(func=ast.Attribute(value=owner, attr="join"), args=[ast.Name() as held]):
                parts = self._listed(held)
                return self.text(owner, depth).join(self.text(part, depth) for part in parts)
            case ast.Call(func=ast.Attribute(value=owner, attr="replace"), args=[old, new]):
                text = self.text(owner, depth)
                for mark, value in self._replacements(old, new):
                    text = _replaced(text, self.text(mark, depth), self.text(value, depth))
                return text
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _TAKERS:
                return self.text(first, depth)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if _makes_text(node):
                text = self.text(owner, depth)
                fill = _FILLS.get(name)
                if fill is None:
                    return text
                return fill(text, self._given(node.args, node.keywords, depth), LONGEST)
            case _:
                return self._handed_back(node, depth)

    def _listed(self, node: ast.Name) -> list[ast.expr]:
        """What a list is made of, and what is appended to it."""
        held = self._followed(node)
        parts = list(held.elts) if isinstance(held, ast.List | ast.Tuple) else []
        for call in self._names.module.all(ast.Call):
            match call:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=node.id), attr="append"), args=[part]
                ):
                    parts.append(part)
                case _:
                    continue
        return parts[:_MOST_PARTS]

    def _handed_back(self, node: ast.Call, depth: int) -> str:
        """The text that a function of the source hands back."""
        held = self._names.called(node)
        ends = held.body[-1:] if isinstance(held, ast.FunctionDef) else []
        given = [one.value for one in ends if isinstance(one, ast.Return) and one.value]
        return self.text(given[0], depth) if given else _UNKNOWN


def _added(pair: ast.expr) -> ast.expr:
    """What is added, of a name and what is added to it."""
    return pair.elts[1] if isinstance(pair, ast.Tuple) else pair


_FILLS: Final = {"format": formatted, "substitute": templated, "safe_substitute": templated}
_MOST_PARTS: Final = 200
"""What is added to one text, or filled in."""


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
