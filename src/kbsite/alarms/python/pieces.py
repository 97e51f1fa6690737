"""What is made of constants: texts that are joined, cut, filled in and decoded; never run."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
import re
from collections.abc import Callable
from typing import Final

Value = str | bytes | int | float | tuple["Value", ...]

LONGEST: Final = 200_000
"""Characters that a text may grow to."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.BitXor: operator.xor, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
}  # fmt: skip
_LARGEST = 1 << 64

_METHODS: Final = frozenset(
    ("lower", "upper", "strip", "swapcase", "title", "capitalize", "replace", "removeprefix",
     "removesuffix", "lstrip", "rstrip", "hex", "split", "rsplit", "partition", "rpartition",
     "casefold", "splitlines", "__str__")
)  # fmt: skip
_CODECS: Final = frozenset(
    ("utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
)
"""Encodings of texts that are worked out; another may be anything."""

_FIELD: Final = re.compile(r"\{\d{0,2}\}")
_WIDTH: Final = re.compile(r"[<>^]?\d{0,3}(\.\d{1,3})?[sdxXobc]?")
_SIGNS: Final = re.compile(r"%[sdc]")

_DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "base64.b64decode": base64.b64decode, "base64.decodebytes": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode, "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode, "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode, "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64, "binascii.a2b_hex": binascii.unhexlify,
}  # fmt: skip

SUMS: Final = ("operator.add", "operator.concat", "operator.iadd", "builtins.str.__add__")


def summed(parts: tuple[Value, ...]) -> Value | None:
    """Texts put one behind the other; None for anything else."""
    if parts and all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return None


def operation(left: Value | None, right: Value | None, sign: ast.operator) -> Value | None:
    """What a sign between two values gives; None where it is not worked out."""
    match left, right, sign:
        case (str(), str(), ast.Add()) | (bytes(), bytes(), ast.Add()):
            return bounded(left + right)  # type: ignore[operator]
        case tuple(), tuple(), ast.Add():
            return bounded(left + right)
        case str() | bytes() | tuple(), int(), ast.Mult():
            return _repeated(left, right)
        case int(), str() | bytes() | tuple(), ast.Mult():
            return _repeated(right, left)
        case str(), str() | int() | tuple(), ast.Mod():
            return _formatted(left, right)
        case int(), int(), _:
            return _reckoned(left, right, sign)
        case _:
            return None


def _repeated(part: str | bytes | tuple[Value, ...], times: int) -> Value | None:
    return part * times if len(part) * times <= LONGEST else None


def turned(value: Value | None, sign: ast.unaryop) -> Value | None:
    """What a sign before a whole number gives."""
    if not isinstance(value, int) or abs(value) >= _LARGEST:
        return None
    match sign:
        case ast.USub():
            return -value
        case ast.Invert():
            return -1 - value
        case ast.Not():
            return not value
        case _:
            return +value


def shown(value: Value, spec: Value | None, conversion: int) -> str | None:
    """A value within an f-string."""
    text = value if conversion < 0 else repr(value) if conversion == ord("r") else str(value)
    if (
        isinstance(value, tuple)
        or not isinstance(spec, str)
        or not _WIDTH.fullmatch(spec)
        or conversion == ord("a")
    ):
        return None
    try:
        return format(text, spec)
    except (TypeError, ValueError, OverflowError):
        return None


def bounded(value: Value | None) -> Value | None:
    """A value, unless it has grown too large to go on with."""
    if isinstance(value, str | bytes | tuple) and len(value) > LONGEST:
        return None
    return value


def _formatted(text: str, given: str | int | tuple[Value, ...]) -> str | None:
    nested = isinstance(given, tuple) and any(isinstance(part, tuple) for part in given)
    if nested or text.count("%") != len(_SIGNS.findall(text)):
        return None
    try:
        return text % given
    except (TypeError, ValueError, OverflowError):
        return None


def _reckoned(left: int, right: int, sign: ast.operator) -> int | None:
    if isinstance(sign, ast.FloorDiv | ast.Mod):
        parts = divmod(left, right) if right else (None, None)
        return parts[isinstance(sign, ast.Mod)]
    act = _ARITHMETIC.get(type(sign))
    small = abs(left) < _LARGEST and abs(right) < _LARGEST
    return act(left, right) if act is not None and small else None


def method(owner: str | bytes, name: str, given: tuple[Value, ...]) -> Value | None:
    """What a method of a text gives, of those that only take it apart or put it together."""
    match name, given:
        case "join", (str() | tuple() as parts,):
            return _joined(owner, parts)
        case "decode" | "encode", _:
            return _recoded(owner, name, given)
        case "format", _ if isinstance(owner, str):
            return _filled(owner, given)
        case "__add__" | "__mod__" | "__mul__", (part,):
            return operation(owner, part, _SIGN_OF[name])
        case "__getitem__", (int() as place,) if -len(owner) <= place < len(owner):
            return owner[place]
        case _:
            return _changed(owner, name, given) if name in _METHODS else None


_SIGN_OF: Final = {"__add__": ast.Add(), "__mod__": ast.Mod(), "__mul__": ast.Mult()}


def _filled(text: str, given: tuple[Value, ...]) -> str | None:
    nested = any(isinstance(part, tuple) for part in given)
    if nested or text.count("{") != len(_FIELD.findall(text)):
        return None
    try:
        return text.format(*given)
    except (IndexError, ValueError):
        return None


def _changed(owner: str | bytes, name: str, given: tuple[Value, ...]) -> Value | None:
    short = all(isinstance(part, int) or len(str(part)) < 100 for part in given)
    if not short or len(owner) > 5_000:
        return None
    try:
        made = getattr(owner, name)(*given)
    except (AttributeError, TypeError, ValueError):
        return None
    return tuple(made) if isinstance(made, list) else made


def _joined(owner: str | bytes, parts: tuple[Value, ...] | str) -> Value | None:
    texts = [part for part in parts if isinstance(part, str)]
    if isinstance(owner, str) and len(texts) == len(parts):
        return owner.join(texts)
    pieces = [part for part in parts if isinstance(part, bytes)]
    if isinstance(owner, bytes) and len(pieces) == len(parts):
        return owner.join(pieces)
    return None


def _recoded(owner: str | bytes, name: str, given: tuple[Value, ...]) -> str | bytes | None:
    codec = str(given[0]).lower().replace("_", "-") if given else "utf-8"
    if codec not in _CODECS or (name == "decode") != isinstance(owner, bytes):
        return None
    try:
        return owner.decode(codec) if isinstance(owner, bytes) else owner.encode(codec)
    except UnicodeError:
        return None


def function(origin: str, given: tuple[Value, ...]) -> Value | None:
    """What a function gives, of those that decode constants or put them together."""
    first, name = given[0], origin.removeprefix("builtins.")
    if len(given) == 1:
        decoder = _DECODERS.get(origin)
        return _decoded(decoder, first) if decoder else _of_one(name, first)
    if origin in SUMS and len(given) == 2:
        return operation(first, given[1], ast.Add())
    if isinstance(first, str | bytes) and name in ("codecs.decode", *_CASTS):
        return _read_as(first, given[1:])
    if name.startswith("str.") and isinstance(first, str):
        return method(first, name.removeprefix("str."), given[1:])
    return None


def _of_one(name: str, first: Value) -> Value | None:
    match first:
        case str() if name.startswith("str."):
            return method(first, name.removeprefix("str."), ())
        case str() if name in ("ord", "str", "bytes.fromhex"):
            return _of_text(name, first)
        case int():
            return _of_number(name, first)
        case float():
            return None
        case _:
            return _of_items(name, first)


_CASTS: Final = ("str", "bytes", "bytearray")


def _read_as(data: str | bytes, codec: tuple[Value, ...]) -> Value | None:
    """A text in an encoding: `str(data, "ascii")`, `codecs.decode(data, "hex")`."""
    match codec:
        case ("rot13" | "rot_13",) if isinstance(data, str):
            return codecs.decode(data, "rot13")
        case ("hex" | "hex_codec",) if isinstance(data, bytes):
            return _decoded(binascii.unhexlify, data)
        case ("base64",) if isinstance(data, bytes):
            return _decoded(base64.b64decode, data)
        case _:
            return _recoded(data, "encode" if isinstance(data, str) else "decode", codec)


def _of_items(name: str, items: str | bytes | tuple[Value, ...]) -> Value | None:
    """What is made of the parts of a text, or of a list."""
    parts = tuple(items)
    match name:
        case "list" | "tuple" | "iter":
            return parts
        case "reversed":
            return parts[::-1]
        case "sorted" if isinstance(items, str):
            return tuple(sorted(items))
        case "bytes" | "bytearray" if not isinstance(items, str):
            octets = [part for part in parts if isinstance(part, int) and 0 <= part < 256]
            return bytes(octets) if len(octets) == len(parts) else None
        case _:
            return None


def _decoded(decoder: Callable[[bytes], bytes], given: Value) -> bytes | None:
    if not isinstance(given, str | bytes):
        return None
    try:
        return decoder(given.encode() if isinstance(given, str) else given)
    except (ValueError, binascii.Error):
        return None


def _of_text(name: str, text: str) -> Value | None:
    match name:
        case "ord":
            return ord(text) if len(text) == 1 else None
        case "str":
            return text
        case _:
            return _unhexed(text)


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
