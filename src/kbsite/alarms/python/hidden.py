"""Code that is kept as text, and names that are put together so that nobody reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import Final

from kbsite.alarms.evidence import Source
from kbsite.alarms.kinds import shown
from kbsite.alarms.python import calls
from kbsite.alarms.python.module import parsed
from kbsite.alarms.python.names import names
from kbsite.alarms.python.ops import FAMILY, op
from kbsite.alarms.python.reading import Phase, Reading
from kbsite.model.alarm import Alarm, Level

LONGEST: Final = 50_000
"""Characters of a text run as code that is read as a source of its own."""

MOST: Final = 200
"""Parts of an expression that are looked at."""

DEEPEST: Final = 4
"""Names behind names that are looked at."""

_RUN: Final = frozenset(("builtins.exec", "builtins.eval", "builtins.compile"))
_LOOK_UPS: Final = frozenset(("builtins.getattr", "inspect.getattr_static"))
_FOREIGN: Final = frozenset(("torch", "sys", "os", "builtins", "inspect", "gc"))
_TOOLS: Final = (
    "builtins.", "functools.", "itertools.", "operator.", "string.", "codecs.", "base64.",
    "binascii.", "zlib.", "random.", "json.", "re.", "struct.",
)  # fmt: skip


def find(reading: Reading) -> Iterator[Alarm]:
    """Alarms of what texts run as code do, and of names that cannot be worked out."""
    for call, origin in reading.calls:
        if origin in _RUN and call.args:
            yield from _of_text(reading, call)
        elif origin in _LOOK_UPS and len(call.args) > 1:
            yield from _of_name(reading, call)


def _of_text(reading: Reading, call: ast.Call) -> Iterator[Alarm]:
    text = reading.names.text(call.args[0])
    if not text or len(text) > LONGEST:
        return
    inner = parsed(Source(reading.file, text))
    for name, bound in reading.module.top.bound.items():
        inner.top.bound.setdefault(name, [part for part in bound if isinstance(part, str)])
    for part in inner.all(ast.Call):
        yield from _run(reading, call, names(inner).origin(part.func))


def _run(reading: Reading, call: ast.Call, origin: str) -> Iterator[Alarm]:
    rule = calls.rule_of(origin)
    if rule is not None:
        yield from calls.told(reading, call, origin, rule)
    elif op(origin) in FAMILY and not origin.startswith("?"):
        says = f"A text that is run as code calls `{shown(origin)}`."
        yield reading.raised("obfuscation", _level(reading, call), says, call)


def _of_name(reading: Reading, call: ast.Call) -> Iterator[Alarm]:
    owner, name = reading.names.origin(call.args[0]), call.args[1]
    foreign = owner.partition(".")[0] in _FOREIGN
    if foreign and reading.names.text(name) is None and _is_closed(reading, name):
        says = f"A name, looked up in `{shown(owner)}`, is put together in a way that hides it."
        yield reading.raised("obfuscation", _level(reading, call), says, call)


def _level(reading: Reading, node: ast.AST) -> Level:
    return Level.NOTE if reading.phase(node) is Phase.TEST else Level.WARNING


def _is_closed(reading: Reading, node: ast.expr) -> bool:
    """Whether an expression is put together of nothing but constants of the source."""
    whole = list(_reached(reading, node))
    used = [part for part in whole if isinstance(part, ast.Name)]
    own = {part.id for part in used if isinstance(part.ctx, ast.Store)}
    own |= {part.arg for part in whole if isinstance(part, ast.arg)}
    said = any(isinstance(part, ast.Constant) for part in whole)
    return said and all(part.id in own or _is_said(reading, part) for part in used)


def _is_said(reading: Reading, name: ast.Name) -> bool:
    """Whether a name stands for something that the source itself says, or for a plain tool."""
    if f"{reading.names.origin(name)}.".startswith(_TOOLS):
        return True
    values = reading.names.bindings(name.id, reading.module.scope(name))
    return bool(values) and all(isinstance(value, ast.expr) for value in values)


def _reached(reading: Reading, node: ast.AST, depth: int = 0) -> Iterator[ast.AST]:
    """The parts of an expression, and of what its names stand for."""
    for part in islice(ast.walk(node), MOST):
        yield part
        if isinstance(part, ast.Name) and depth < DEEPEST:
            for value in reading.names.bindings(part.id, reading.module.scope(part))[:4]:
                if isinstance(value, ast.expr):
                    yield from _reached(reading, value, depth + 1)
