"""The source of a floor: what one function of a problem's baselines.py needs, as a solution.py.

It is read and cut, never run: what it says is what an auditor finds in the floor's run.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import InputError
from kbsite.model.floor import FloorKind
from kbsite.model.problem_files import LONGEST
from kbsite.regular import read_regular

BASELINES = "baselines.py"
REFERENCE = "reference"
"""The module beside it that baselines may import."""

SOLVE = "solve"
NOTE = "LIBRARY"
"""The text of baselines.py that says what the library floor is, and why."""

_EACH_SHAPE = """\
# Code for each shape. Else the second one gets code for any size: on an H200 times hung on which
# shape came first then, by up to 11 times, and torch 2.11 computed one problem wrongly.
torch._dynamo.config.automatic_dynamic_shapes = False"""
"""What a compiled floor sets: it has to be the best that torch.compile does."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement of a module: the names that it makes, those that it needs, and its text."""

    module: str
    line: int
    makes: frozenset[str]
    needs: frozenset[str]
    text: str
    from_reference: bool = False


def source(folder: Path, kind: FloorKind) -> str:
    """A solution.py that is the floor of a kind of the problem in a folder, and needs no other.

    InputError if the problem has no such function, or if it cannot be cut out.
    """
    path = folder / BASELINES
    pieces = _pieces(path, "baselines")
    wanted = kind.value
    if not any(wanted in piece.makes for piece in pieces):
        message = f"has no {wanted}; expected a function of that name as the {kind.label}"
        raise InputError(message, path=path)
    beside = folder / f"{REFERENCE}.py"
    if any(piece.from_reference for piece in pieces):
        pieces = [*_pieces(beside, REFERENCE), *(p for p in pieces if not p.from_reference)]
    needed = _needed(pieces, wanted, path)
    body = "\n\n\n".join(piece.text for piece in needed if not _imports(piece))
    head = "\n".join(_head(needed, body))
    note = _note(path) if kind is FloorKind.LIBRARY else ""
    told = [f'"""{kind.label.capitalize()} of {folder.name}, taken from its baselines.', ""]
    told += [*textwrap.wrap(f"{kind.sentence} {note}", 100), '"""', "", ""]
    return (
        "\n".join(told)
        + f"from __future__ import annotations\n\n{head}\n\n\n{_named(body, wanted)}\n"
    )


def _head(needed: list[_Piece], body: str) -> list[str]:
    """Lines of imports, and what has to be set before anything is compiled."""
    imports = list(dict.fromkeys(piece.text for piece in needed if _imports(piece)))
    each_shape = ["import torch._dynamo", "", _EACH_SHAPE] if "torch.compile(" in body else []
    return imports + each_shape


def _imports(piece: _Piece) -> bool:
    return piece.text.startswith(("import ", "from "))


def _note(path: Path) -> str:
    """What baselines.py says of its library; no quotes that would end a docstring."""
    for node in ast.parse(read_regular(path, LONGEST)).body:
        if isinstance(node, ast.Assign) and NOTE in _made(node):
            try:
                text = ast.literal_eval(node.value)
            except ValueError as error:
                message = "expected a text that stands there as it is"
                raise InputError(message, path=path, line=node.lineno, key=NOTE) from error
            return re.sub(r'"""|\\', "'", " ".join(str(text).split()))
    return ""


def _pieces(path: Path, module: str) -> list[_Piece]:
    """The statements of a module but its docstring, each with the text that describes it."""
    try:
        text = read_regular(path, LONGEST).decode("utf-8")
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"cannot be read as Python: {error}", path=path) from error
    lines = text.splitlines()
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        _refuse_whole(node, path)
        if not _is_text(node) and not _of_future(node):
            described = after if after is not None and _is_text(after) else node
            found.append(_piece(node, lines, described.end_lineno or node.lineno, module))
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _refuse_whole(node: ast.stmt, path: Path) -> None:
    """Raise InputError where the reference is imported as a whole: it cannot be cut then."""
    if isinstance(node, ast.Import) and any(one.name == REFERENCE for one in node.names):
        message = f"imports {REFERENCE} as a whole; write `from {REFERENCE} import ...`"
        raise InputError(message, path=path, line=node.lineno)


def _piece(node: ast.stmt, lines: list[str], last: int, module: str) -> _Piece:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    return _Piece(
        module=module,
        line=node.lineno,
        makes=frozenset(_made(node)),
        needs=frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name)),
        text="\n".join(lines[first - 1 : last]),
        from_reference=isinstance(node, ast.ImportFrom) and node.module == REFERENCE,
    )


def _made(node: ast.stmt) -> Iterator[str]:
    """The names that a statement makes; none for one that only has an effect."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    for one in ast.walk(node):
        match one:
            case ast.alias(name=name, asname=known_as):
                yield known_as or name.partition(".")[0]
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                yield name
            case _:
                pass


def _needed(pieces: list[_Piece], wanted: str, path: Path) -> list[_Piece]:
    """The pieces that a name needs, in order; InputError where two make one name differently."""
    makers: dict[str, list[_Piece]] = {}
    for piece in pieces:
        for name in piece.makes:
            makers.setdefault(name, []).append(piece)
    kept = {piece for piece in pieces if not piece.makes}
    waiting = [wanted, *(name for piece in kept for name in piece.needs)]
    while waiting:
        made = makers.get(waiting.pop(), [])
        _refuse_clash(made, path)
        for piece in made:
            if piece not in kept:
                kept.add(piece)
                waiting += piece.needs
    return [piece for piece in pieces if piece in kept]


def _refuse_clash(made: list[_Piece], path: Path) -> None:
    modules: Mapping[str, str] = {piece.module: piece.text for piece in made}
    if len(modules) > 1 and len(set(modules.values())) > 1:
        names = ", ".join(sorted(set.intersection(*(set(piece.makes) for piece in made))))
        message = f"{names} is made here and in {REFERENCE}.py, differently; give one another name"
        raise InputError(message, path=path, line=made[-1].line)


def _named(body: str, wanted: str) -> str:
    """The same with the wanted function under the name that a solution has."""
    pattern = rf"^def {wanted}\("
    alone = len(re.findall(rf"\b{wanted}\b", body)) == 1
    if alone and re.search(pattern, body, re.MULTILINE):
        return re.sub(pattern, f"def {SOLVE}(", body, flags=re.MULTILINE)
    return f"{body}\n\n\n{SOLVE} = {wanted}"
