"""What calls give that look something up: `getattr`, `vars(m).get`, imports by name."""

from __future__ import annotations

import ast
import re
from typing import Final, Protocol

from kbsite.alarms.python.ops import FAMILY
from kbsite.alarms.python.pieces import Value

UNKNOWN: Final = "?"

GIVES_FIRST: Final = frozenset(
    ("functools.partial", "functools.partialmethod", "builtins.staticmethod",
     "builtins.classmethod", "torch.no_grad()", "torch.inference_mode()", "torch.jit.script",
     "torch.compile", "torch._dynamo.disable", "torch.compiler.disable", "functools.wraps()",
     "functools.lru_cache", "functools.cache", "functools.lru_cache()", "torch.jit.ignore",
     "torch.library.wrap_triton", "torch.jit.export", "triton.jit", "triton.autotune()",
     "triton.heuristics()", "torch.cuda.make_graphed_callables", "torch.library.custom_op()",
     "torch.library.triton_op()", "types.MethodType", "builtins.iter", "copy.copy")
)  # fmt: skip
"""Calls that give their first argument, as far as a name is concerned."""

_ATTRIBUTES: Final = frozenset(
    ("builtins.getattr", "inspect.getattr_static", "builtins.object.__getattribute__",
     "builtins.type().__getattribute__", "builtins.type.__getattribute__")
)  # fmt: skip
"""Calls that give the attribute of their first argument that the second one names."""

_OWN: Final = frozenset(("__getattribute__", "__getattr__"))
_ITEMS: Final = frozenset(("get", "__getitem__", "pop", "setdefault"))
_IMPORTS: Final = frozenset(
    ("importlib.import_module", "importlib.__import__", "builtins.__import__")
)
_DOTTED: Final = re.compile(r"[^\W\d]\w*([.:][^\W\d]\w*)*")

SPREAD: Final = 20
"""Arguments of a call that are looked at."""


class Known(Protocol):
    """What is known of the names of a source."""

    def origin(self, node: ast.expr) -> str:
        """What an expression denotes."""

    def text(self, node: ast.expr) -> str | None:
        """The text that an expression is put together to."""

    def value(self, node: ast.expr) -> Value | None:
        """The constant that an expression is put together to."""

    def member(self, owner: ast.expr, name: str) -> str:
        """An attribute of what an expression denotes."""

    def item(self, node: ast.expr, owner: ast.expr, key: ast.expr) -> str:
        """An item of what an expression denotes, which stands where `node` does."""

    def handed(self, node: ast.Name) -> list[ast.expr]:
        """What a parameter or the name of a loop may stand for."""

    def named(self, name: str, node: ast.expr) -> str:
        """What a name denotes where a node stands."""


def looked_up(known: Known, node: ast.Call, called: str, given: list[ast.expr]) -> str:
    """What a call gives by its arguments; empty if it does not look anything up."""
    if called in _IMPORTS:
        return _imported(known, node, given)
    if not given:
        return ""
    if called in _ATTRIBUTES and len(given) > 1:
        return _attribute(known, given[0], given[1])
    method = node.func
    if isinstance(method, ast.Attribute):
        found = _by_method(known, node, method, given)
        if found:
            return found
    return _by_name(known, node, called, given)


def spread(given: list[ast.expr]) -> list[ast.expr]:
    """The arguments of a call, with those that a literal behind a star holds."""
    found: list[ast.expr] = []
    for part in given[:SPREAD]:
        held = part.value if isinstance(part, ast.Starred) else None
        found += held.elts if isinstance(held, ast.Tuple | ast.List) else [part]
    return found


def _by_method(known: Known, node: ast.Call, method: ast.Attribute, given: list[ast.expr]) -> str:
    owner = known.origin(method.value)
    if method.attr in _OWN and not owner.startswith("builtins.") and len(given) == 1:
        return _attribute(known, method.value, given[0])
    if method.attr in _ITEMS:
        found = known.item(node, method.value, given[0])
        return "" if found.endswith("[]") else _if_known(found)
    return ""


def _by_name(known: Known, node: ast.Call, called: str, given: list[ast.expr]) -> str:
    first = given[0]
    match called:
        case "operator.attrgetter()":
            return f"{known.origin(first)}.{_of_maker(known, node)}"
        case "operator.methodcaller":
            return f"{UNKNOWN}.{known.text(first) or UNKNOWN}"
        case "operator.itemgetter()" if isinstance(node.func, ast.Call) and node.func.args:
            return known.item(node, first, node.func.args[0])
        case "functools.reduce" if len(given) > 2:
            return _reduced(known, given)
        case "builtins.next":
            return _if_known(known.item(node, first, ast.Constant(0)))
        case "builtins.eval":
            return _evaluated(known, first)
        case "pydoc.locate" | "pkgutil.resolve_name":
            return _located(known, first)
        case "torch.nn.utils.skip_init":
            return f"{known.origin(first)}()"
        case _:
            return _first(known, called, first)


def _first(known: Known, called: str, first: ast.expr) -> str:
    return _if_known(known.origin(first)) if called in GIVES_FIRST else ""


def _if_known(origin: str) -> str:
    return "" if origin == UNKNOWN else origin


def _located(known: Known, path: ast.expr) -> str:
    text = known.text(path) or ""
    return text.replace(":", ".") if _DOTTED.fullmatch(text) else ""


def _imported(known: Known, node: ast.Call, given: list[ast.expr]) -> str:
    """A module that is imported by a call, by its whole name."""
    named = {k.arg: k.value for k in node.keywords}
    path = given[0] if given else named.get("name")
    text = None if path is None else known.text(path)
    if not text:
        return f"{UNKNOWN}()"
    package = given[1] if len(given) > 1 else named.get("package")
    base = known.text(package) if package is not None and text.startswith(".") else None
    return f"{base}.{text.lstrip('.')}" if base else text


def _attribute(known: Known, owner: ast.expr, name: ast.expr) -> str:
    text = known.text(name)
    if text is None and isinstance(name, ast.Name):
        given = [text for part in known.handed(name) if (text := known.text(part)) is not None]
        text = max(given, key=FAMILY.__contains__, default=None)
    if text is None or not text.replace(".", "_").isidentifier():
        return f"{known.origin(owner)}.{UNKNOWN}"
    return known.member(owner, text)


def _reduced(known: Known, given: list[ast.expr]) -> str:
    """`reduce(getattr, names, of)`: an attribute of an attribute."""
    parts = known.value(given[1])
    if known.origin(given[0]) != "builtins.getattr" or not isinstance(parts, tuple):
        return ""
    return ".".join((known.origin(given[2]), *map(str, parts[:SPREAD])))


def _of_maker(known: Known, node: ast.Call) -> str:
    maker = node.func
    text = known.text(maker.args[0]) if isinstance(maker, ast.Call) and maker.args else None
    return text or UNKNOWN


def _evaluated(known: Known, given: ast.expr) -> str:
    """What a text that is only a dotted name comes to."""
    head, _, rest = (known.text(given) or "").strip().partition(".")
    if not _DOTTED.fullmatch(head) or (rest and not _DOTTED.fullmatch(rest)):
        return ""
    return ".".join(part for part in (known.named(head, given), rest) if part)
