"""Files to the typed records of kbsite.model, strictly, with nothing but the standard library.

PyYAML is needed for YAML alone. What a record does not know, or knows as another type, is an
error: a slip here would be a wrong grade.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from kbsite.errors import InputError
from kbsite.regular import read_regular

if TYPE_CHECKING:
    import yaml

T = TypeVar("T")

HARDWARE = Path(__file__).parent / "hardware"
"""The folder of the hardware that is known: a file each, named by its id."""

LIMIT_BYTES = 1_000_000
"""No record that a person writes is larger."""

_MOST_BITS = 1024
"""Of a whole number where one with a point is meant: more do not fit."""

_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false",
    types.NoneType: "null", datetime: "a time with zone (ISO 8601)", date: "a date (YYYY-MM-DD)",
}  # fmt: skip


def read_yaml(path: Path, cls: type[T], *, links: bool = True) -> T:
    """The record in a YAML file; InputError names the file, the line and the key that is wrong.

    A link to one is read only where `links` says so.
    """
    import yaml

    text = _text(path, links=links)
    try:
        data = yaml.load(text, Loader=_loader())  # noqa: S506 - a safe loader, with one more rule
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = error.problem or error.context
        line = mark.line + 1 if mark else None
        raise InputError(f"not valid YAML: {said}", path=path, line=line) from error
    except yaml.YAMLError as error:
        raise InputError(f"not valid YAML: {error}", path=path) from error
    except RecursionError as error:
        raise InputError("nested too deeply", path=path) from error
    try:
        return record(data, cls, path)
    except InputError as error:
        line = _line(text, error.key or "")
        raise InputError(error.message, path=path, line=line, key=error.key) from error


def read_json(path: Path, cls: type[T]) -> T:
    """The record in a JSON file; InputError names the file and the key that is wrong."""
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:  # a number may have too many digits
        line = getattr(error, "lineno", None)
        raise InputError(f"not valid JSON: {error}", path=path, line=line) from error
    return record(data, cls, path)


def record(data: object, cls: type[T], path: Path | str) -> T:
    """`data`, which `path` holds, as a frozen record; InputError names the key that is wrong."""
    return _Reader(path).read(data, cls, "")  # type: ignore[no-any-return]


def plain(value: object) -> Any:
    """A record as JSON data: enums by their values, times as ISO 8601, tuples as lists."""
    match value:
        case Enum():
            return value.value
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return {str(plain(key)): plain(item) for key, item in value.items()}
        case str() | int() | float() | None:
            return value
        case Path():
            return str(value)
        case Sequence():
            return [plain(item) for item in value]
        case _ if is_dataclass(value):
            return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a record")


class _Reader:
    """Plain data of one file to typed values."""

    def __init__(self, path: Path | str) -> None:
        self._path = path

    def read(self, data: object, hint: Any, key: str) -> Any:
        """`data` as the type that `hint` says."""
        origin = get_origin(hint)
        if hint is Any or hint is object:
            return data
        if origin in (Union, types.UnionType):
            return self._one_of(data, hint, key)
        if origin is Literal:
            return data if data in get_args(hint) else self._refuse(data, hint, key)
        if origin is tuple:
            return self._items(data, get_args(hint), key)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self._mapping(data, get_args(hint), key)
        if is_dataclass(hint):
            return self._record(data, hint, key)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self._member(data, hint, key)
        return self._scalar(data, hint, key)

    def _refuse(self, data: object, hint: Any, key: str, *, why: str = "") -> Any:
        cure = _as_number(data, hint) if isinstance(data, str) else why
        self._wrong(f"expected {_expected(hint)}, got {_shown(data)}{cure}", key)

    def _wrong(self, message: str, key: str) -> None:
        raise InputError(message, path=self._path, key=key or None)

    def _one_of(self, data: object, union: Any, key: str) -> Any:
        hints = get_args(union)
        if data is None and types.NoneType in hints:
            return None
        for hint in hints:
            if hint in _WORDS and _fits(data, hint):
                return self._scalar(data, hint, key)
        inner = next((hint for hint in hints if hint not in _WORDS), None)
        if inner is None and len(hints) == 2 and types.NoneType in hints:
            inner = hints[0]
        return self._refuse(data, union, key) if inner is None else self.read(data, inner, key)

    def _items(self, data: object, hints: tuple[Any, ...], key: str) -> tuple[Any, ...]:
        if not isinstance(data, list):
            self._wrong(f"expected a list, got {_shown(data)}", key)
        items: list[object] = data  # type: ignore[assignment]
        if hints[-1] is Ellipsis:
            hints = (hints[0],) * len(items)
        elif len(hints) != len(items):
            self._wrong(f"expected a list of {len(hints)}, got one of {len(items)}", key)
        pairs = zip(items, hints, strict=True)
        return tuple(self.read(item, hint, f"{key}[{at}]") for at, (item, hint) in enumerate(pairs))

    def _mapping(self, data: object, hints: tuple[Any, ...], key: str) -> Mapping[Any, Any]:
        held = self._keyed(data, key)
        return {
            self.read(name, hints[0], key): self.read(item, hints[1], _below(key, name))
            for name, item in held.items()
        }

    def _keyed(self, data: object, key: str) -> dict[str, object]:
        if not isinstance(data, dict):
            self._wrong(f"expected keys and values, got {_shown(data)}", key)
        held: dict[str, object] = data  # type: ignore[assignment]
        for name in held:
            if not isinstance(name, str):
                self._wrong(f"expected text as keys, got {name!r}; put it in quotes", key)
        return held

    def _record(self, data: object, cls: Any, key: str) -> Any:
        held = self._keyed(data, key)
        hints = get_type_hints(cls)
        known = {one.name: one for one in fields(cls)}
        for name in held:
            if name not in known:
                self._wrong(f"no such key; expected one of {', '.join(known)}", _below(key, name))
        for name, one in known.items():
            if name not in held and _is_required(one):
                self._wrong(f"missing; expected {_expected(hints[name])}", _below(key, name))
        return cls(
            **{name: self.read(item, hints[name], _below(key, name)) for name, item in held.items()}
        )

    def _member(self, data: object, cls: type[Enum], key: str) -> Any:
        for member in cls:
            if member.value == data and type(member.value) is type(data):
                return member
        return self._refuse(data, cls, key)

    def _scalar(self, data: object, hint: Any, key: str) -> Any:
        if hint is datetime and isinstance(data, str):
            try:
                data = datetime.fromisoformat(data)
            except ValueError:
                return self._refuse(data, hint, key)
        elif hint is date and isinstance(data, str):
            try:
                data = date.fromisoformat(data)
            except ValueError:
                return self._refuse(data, hint, key)
        if not _fits(data, hint):
            quoted = "; put it in quotes" if hint is str and data is not None else ""
            return self._refuse(data, hint, key, why=quoted)
        return float(data) if hint is float else data  # type: ignore[arg-type]


def _fits(data: object, hint: Any) -> bool:
    match data:
        case bool():
            return hint is bool
        case int():
            return hint is int or (hint is float and data.bit_length() < _MOST_BITS)
        case float():
            return hint is float and math.isfinite(data)
        case datetime():
            return hint is datetime and data.tzinfo is not None
        case date() | str():
            return isinstance(data, hint)
        case _:
            return data is None and hint is types.NoneType


def _as_number(text: str, hint: Any) -> str:
    """What to do where a number is expected and YAML read a text of one."""
    try:
        if hint not in (int, float) or not math.isfinite(float(text)):
            return ""
    except ValueError:
        return ""
    how = "0.05 or 5.0e-2" if hint is float else "12, without quotes, a dot or an e"
    return f"; YAML reads it as text: write it as {how}"


def _shown(data: object) -> str:
    return "null" if data is None else _cut(repr(data))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _expected(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"one of {', '.join(str(member.value) for member in hint)}"
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_expected(part) for part in get_args(hint))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return "a list" if origin is tuple else _WORDS.get(hint, "keys and values")


def _text(path: Path, *, links: bool = True) -> str:
    data = read_regular(path, LIMIT_BYTES, links=links)
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("expected UTF-8 text", path=path, line=line) from error


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER = 100
"""Characters of a number; none that is meant has as many."""


def _loader() -> type[yaml.SafeLoader]:
    """PyYAML's safe loader, which refuses what stands there twice and what stands for another."""
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
            seen: set[str] = set()
            for name, _ in node.value:
                if str(name.value) in seen:
                    message = f"{name.value!r} stands there twice"
                    raise yaml.MarkedYAMLError(problem=message, problem_mark=name.start_mark)
                seen.add(str(name.value))
            return super().construct_mapping(node, deep)

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                message = "an alias is not read; write the value out"
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem=message, problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            try:
                if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
                    raise ValueError  # noqa: TRY301 - 1:1:1:… is one to base 60, and takes minutes
                return super().construct_object(node, deep)
            except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
                # What looks like a date, a number or what a tag says, and is none.
                message = f"{_cut(repr(node.value))} cannot be read; put it in quotes if it is text"
                raise yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark) from error

    return Loader


def line_of(path: Path, key: str) -> int | None:
    """The line of a YAML file that a key stands in, or the deepest part of it that is there."""
    return _line(_text(path), key)


def _line(text: str, key: str) -> int | None:
    import yaml

    node = yaml.compose(text, Loader=_loader())
    line = None
    for step in key.replace("[", ".[").split("."):
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and step.startswith("["):
            found = (node.value[int(step[1:-1])],) * 2
        if found is None:
            return line
        line, node = found[0].start_mark.line + 1, found[1]
    return line
