"""Texts and numbers that a source puts together of constants, worked out without running it."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
from collections.abc import Callable, Sequence
from typing import Final

Value = str | bytes | int | float | tuple["Value", ...]

LONGEST: Final = 200_000
"""Characters that a text may grow to."""

DEEPEST: Final = 40
"""Expressions within each other that are looked into."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.BitXor: operator.xor, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip
_LARGEST = 1 << 64

_METHODS: Final = frozenset(
    ("lower", "upper", "strip", "swapcase", "title", "capitalize", "replace", "removeprefix",
     "removesuffix", "lstrip", "rstrip", "hex", "split")
)  # fmt: skip

_DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "base64.b64decode": base64.b64decode, "base64.decodebytes": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode, "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode, "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode, "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64, "binascii.a2b_hex": binascii.unhexlify,
}  # fmt: skip


WORK: Final = 150_000
"""Expressions that are worked out for one source; long texts count for many."""


class Constants:
    """Works out expressions. `follow` gives what a name stands for, `origin` what is called."""

    def __init__(
        self,
        follow: Callable[[ast.expr], ast.expr | None],
        origin: Callable[[ast.expr], str],
    ) -> None:
        self._follow = follow
        self._origin = origin
        self._known: dict[ast.expr, Value | None] = {}
        self._work = WORK

    def value(self, node: ast.expr, depth: int = 0) -> Value | None:
        """What an expression is; None where it is not of constants, or is too large."""
        if node in self._known:
            return self._known[node]
        if depth > DEEPEST or self._work <= 0:
            return None
        found = self._value(node, depth)
        length = len(found) if isinstance(found, str | bytes | tuple) else 0
        self._work -= 1 + length // 50
        self._known[node] = found
        return found

    def _value(self, node: ast.expr, depth: int) -> Value | None:
        match node:
            case ast.Constant(value=str() | bytes() | int() | float() as value):
                return value
            case ast.Name() | ast.Attribute():
                target = self._follow(node)
                return None if target is None else self.value(target, depth + 1)
            case ast.JoinedStr() | ast.FormattedValue():
                return self._joined(node, depth)
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.Tuple() | ast.List():
                return self._all(node.elts, depth)
            case ast.Subscript():
                return self._piece(node, depth)
            case ast.Call():
                return _bounded(self._called(node, depth))
            case ast.GeneratorExp() | ast.ListComp():
                return self._mapped(node, depth)
            case _:
                return None

    def _all(self, nodes: Sequence[ast.expr], depth: int) -> tuple[Value, ...] | None:
        values: list[Value] = []
        for node in nodes[:LONGEST]:
            value = self.value(node, depth + 1)
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def _joined(self, node: ast.JoinedStr | ast.FormattedValue, depth: int) -> str | None:
        if isinstance(node, ast.FormattedValue):
            value = self.value(node.value, depth + 1)
            return None if value is None else str(value)
        parts = self._all(node.values, depth)
        text = None if parts is None else "".join(str(part) for part in parts)
        return text if text is None or len(text) <= LONGEST else None

    def _operation(self, node: ast.BinOp, depth: int) -> Value | None:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        match left, right, node.op:
            case str(), str(), ast.Add():
                return _bounded(left + right)
            case bytes(), bytes(), ast.Add():
                return _bounded(left + right)
            case tuple(), tuple(), ast.Add():
                return _bounded(left + right)
            case str(), int(), ast.Mult():
                return left * right if len(left) * right <= LONGEST else None
            case str(), str() | int() | tuple(), ast.Mod():
                return _formatted(left, right)
            case int(), int(), _:
                return _reckoned(left, right, node.op)
            case _:
                return None

    def _piece(self, node: ast.Subscript, depth: int) -> Value | None:
        held = node.value
        if isinstance(held, ast.Name | ast.Attribute):
            held = self._follow(held) or held
        if isinstance(held, ast.Dict):
            return self._entry(held, node.slice, depth)
        whole = self.value(held, depth + 1)
        if not isinstance(whole, str | bytes | tuple):
            return None
        cut = node.slice
        if isinstance(cut, ast.Slice):
            bounds = [self._bound(part, depth) for part in (cut.lower, cut.upper, cut.step)]
            return None if bounds[2] == 0 else whole[slice(*bounds)]
        place = self.value(cut, depth + 1)
        if isinstance(place, int) and -len(whole) <= place < len(whole):
            return whole[place]
        return None

    def _entry(self, held: ast.Dict, key: ast.expr, depth: int) -> Value | None:
        wanted = self.value(key, depth + 1)
        for name, value in zip(held.keys, held.values, strict=True):
            if wanted is not None and name is not None and self.value(name, depth + 1) == wanted:
                return self.value(value, depth + 1)
        return None

    def _bound(self, node: ast.expr | None, depth: int) -> int | None:
        value = None if node is None else self.value(_positive(node), depth + 1)
        if not isinstance(value, int):
            return None
        return -value if isinstance(node, ast.UnaryOp) else value

    def _mapped(self, node: ast.GeneratorExp | ast.ListComp, depth: int) -> Value | None:
        """`f(x) for x in constants`, for the one name of the one loop."""
        loop = node.generators[0]
        if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
            return None
        items = self.value(loop.iter, depth + 1)
        if not isinstance(items, str | bytes | tuple) or len(items) > 5_000:
            return None
        name, values = loop.target.id, list[Value]()
        inner = Constants(self._follow, self._origin)
        for item in items:
            inner._follow = _given(self._follow, name, _written(item))
            inner._known, inner._work = {}, self._work
            value = inner.value(node.elt, depth + 1)
            self._work = inner._work
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def _called(self, node: ast.Call, depth: int) -> Value | None:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, depth + 1)
            if isinstance(owner, str | bytes):
                arguments = self._all(node.args, depth)
                return None if arguments is None else _method(owner, node.func.attr, arguments)
        values = self._all(node.args[:2], depth)
        return None if not values else _function(self._origin(node.func), values)


def _given(
    follow: Callable[[ast.expr], ast.expr | None], name: str, value: ast.expr
) -> Callable[[ast.expr], ast.expr | None]:
    return lambda node: value if isinstance(node, ast.Name) and node.id == name else follow(node)


def _written(value: Value) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple(elts=[_written(part) for part in value])
    return ast.Constant(value)


def _positive(node: ast.expr) -> ast.expr:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    return node.operand if negative and isinstance(node, ast.UnaryOp) else node


def _bounded(value: Value | None) -> Value | None:
    if isinstance(value, str | bytes | tuple) and len(value) > LONGEST:
        return None
    return value


def _formatted(text: str, given: str | int | tuple[Value, ...]) -> str | None:
    if text.count("%") != text.count("%s") + text.count("%d"):
        return None
    try:
        return text % given
    except (TypeError, ValueError):
        return None


def _reckoned(left: int, right: int, sign: ast.operator) -> int | None:
    if isinstance(sign, ast.FloorDiv):
        return left // right if right else None
    act = _ARITHMETIC.get(type(sign))
    small = abs(left) < _LARGEST and abs(right) < _LARGEST
    return act(left, right) if act is not None and small else None


def _method(owner: str | bytes, name: str, given: tuple[Value, ...]) -> Value | None:
    """What a method of a text gives, of those that only take it apart or put it together."""
    if name == "join" and len(given) == 1 and isinstance(given[0], tuple | str):
        return _joined(owner, given[0])
    if name in ("decode", "encode"):
        return _recoded(owner)
    if name == "format" and isinstance(owner, str):
        plain = owner.count("{") == owner.count("{}") == len(given)
        return owner.format(*given) if plain else None
    return _changed(owner, name, given) if name in _METHODS else None


def _changed(owner: str | bytes, name: str, given: tuple[Value, ...]) -> Value | None:
    short = all(isinstance(part, str | bytes) and len(part) < 100 for part in given)
    if not short or len(owner) > 5_000:
        return None
    try:
        made = getattr(owner, name)(*given)
    except (TypeError, ValueError):
        return None
    return tuple(made) if isinstance(made, list) else made


def _joined(owner: str | bytes, parts: tuple[Value, ...] | str) -> Value | None:
    if isinstance(owner, str) and all(isinstance(part, str) for part in parts):
        return owner.join(str(part) for part in parts)
    if isinstance(owner, bytes):
        return owner.join(part for part in parts if isinstance(part, bytes))
    return None


def _recoded(owner: str | bytes) -> str | bytes:
    return owner.decode("utf-8", "replace") if isinstance(owner, bytes) else owner.encode()


def _function(origin: str, given: tuple[Value, ...]) -> Value | None:
    """What a function gives, of those that decode constants."""
    first, name = given[0], origin.removeprefix("builtins.")
    decoder = _DECODERS.get(origin)
    if decoder is not None:
        return _decoded(decoder, first)
    match first:
        case str() if name in ("ord", "str", "bytes.fromhex", "codecs.decode"):
            return _of_text(name, first, given)
        case bool() | float():
            return None
        case int():
            return _of_number(name, first)
        case tuple() if name in ("bytes", "bytearray"):
            return bytes(part for part in first if isinstance(part, int) and 0 <= part < 256)
        case str() | tuple() if name == "reversed":
            return tuple(first[::-1])
        case _:
            return None


def _decoded(decoder: Callable[[bytes], bytes], given: Value) -> bytes | None:
    if not isinstance(given, str | bytes):
        return None
    try:
        return decoder(given.encode() if isinstance(given, str) else given)
    except (ValueError, binascii.Error):
        return None


def _of_text(name: str, text: str, given: tuple[Value, ...]) -> Value | None:
    match name:
        case "ord":
            return ord(text) if len(text) == 1 else None
        case "str":
            return text
        case "bytes.fromhex":
            return _unhexed(text)
        case _:
            turned = given[1:] in (("rot13",), ("rot_13",))
            return codecs.decode(text, "rot13") if turned else None


def _of_number(name: str, number: int) -> Value | None:
    match name:
        case "chr":
            return chr(number) if 0 <= number < 0x110000 else None
        case "str":
            return str(number) if abs(number) < _LARGEST else None
        case "int":
            return number
        case _:
            return None


def _unhexed(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None
