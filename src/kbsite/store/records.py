"""JSON and YAML files to typed records, with errors that name file, line, key and expectation.

msgspec does the conversion: it reads plain dataclasses and structs of its own, is strict, and makes
JSON Schema of the same types.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from kbsite.errors import InputError
from kbsite.model.finding import nearest, one_line, short
from kbsite.regular import LIMIT_BYTES
from kbsite.store.parsing import (
    LIMIT_YAML_BYTES,
    InvalidFileError,
    invalid,
    json_data,
    read_text,
    yaml_data,
)
from kbsite.store.places import line_of, lines_of

if TYPE_CHECKING:
    from kbsite.model.redaction import Span

__all__ = [
    "LIMIT_BYTES", "InvalidFileError", "hints_of", "json_record", "line_of", "lines_of",
    "packaged_record", "read_text", "record", "yaml_record",
]  # fmt: skip

T = TypeVar("T")

_PLACE = re.compile(
    r"(?P<what>.*?)(?: - at (?P<of_key>`key` in )?`\$(?P<path>.*?)`)?", re.DOTALL
)  # fmt: skip
_GOT = re.compile(r"Expected (?P<wanted>.+), got (?P<got>.+)", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "datetime": "a time with zone (ISO 8601)", "date": "a date (YYYY-MM-DD)", "null": "null",
    "array": "a list", "object": "keys and values", "list": "a list", "dict": "keys and values",
    "NoneType": "nothing", "Decimal": "a number",
}  # fmt: skip


def packaged_record(path: Path, kind: type[T]) -> T:
    """The record in a JSON file of the package itself, in a tenth of the time of `json_record`.

    It raises what that one does, which is asked where the file is wrong; of a key that stands there
    twice nothing is said.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.MsgspecError:
        return json_record(path, kind)


def json_record(
    path: Path, kind: type[T], *, any_text: bool = False, hidden: Sequence[Span] = ()
) -> T:
    """The record of type `kind` in a JSON file; InvalidFileError names every key that is wrong.

    `any_text` lets pass the halves of characters that stand for bytes in file names.
    """
    text = read_text(path, hidden=hidden)
    return record(json_data(path, text, any_text=any_text), kind, path, text)


def yaml_record(path: Path, kind: type[T], hidden: Sequence[Span] = ()) -> T:
    """The record of type `kind` in a YAML file; InvalidFileError names every key that is wrong."""
    text = read_text(path, LIMIT_YAML_BYTES, hidden).removeprefix("\ufeff")
    return record(yaml_data(path, text), kind, path, text)


def record(data: object, kind: type[T], path: Path, text: str) -> T:
    """`data`, which `path` holds as `text`, as a record; unknown keys are left alone."""
    if not isinstance(data, dict):
        raise invalid(f"expected keys and values, got {_got(data)}", path, line=1)
    hints = hints_of(cast("Hashable", kind))
    values: dict[str, object] = {}
    wrong: list[tuple[str, str]] = []
    for name, required in _fields(cast("Hashable", kind)):
        hint = hints[name]
        if name not in data:
            if required:
                wrong.append((name, _missing(name, _expected(hint), data, kind)))
            continue
        try:
            values[name] = _converted(data[name], hint)
        except msgspec.ValidationError as error:
            item = _explained_item(data[name], name, hint)
            wrong.append(item or _explained(error, name, hint, data[name]))
            continue
        if _zoneless(values[name]):
            wrong.append((name, f"expected {_expected(hint)}, got one without zone"))
    if wrong:
        raise wrong_keys(wrong, path, text)
    return kind(**values)


def wrong_keys(wrong: Sequence[tuple[str, str]], path: Path, text: str) -> InvalidFileError:
    """The error of a file that holds `text`, with each key that is wrong, and what is, in its line.

    Keys are as places.lines_of has them, without the dot at the beginning.
    """
    lines = lines_of(text, [f".{key}" for key, _ in wrong])
    places = zip(wrong, lines, strict=True)
    return InvalidFileError(
        [InputError(what, path=path, line=line, key=key) for (key, what), line in places]
    )


def _converted(value: object, hint: Any) -> Any:
    """`value` as its type; ValidationError where it is none."""
    try:
        return msgspec.convert(value, hint)
    except UnicodeEncodeError as error:
        # What names bytes of file names is no text that could be looked up.
        raise msgspec.ValidationError("Expected text, got half of a character") from error


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The types of a record's fields: reading a small record takes a third of what this does."""
    return get_type_hints(kind)


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """The names of a record's fields, and whether a file has to hold each of them."""
    if issubclass(kind, msgspec.Struct):
        return tuple((one.name, one.required) for one in msgspec.structs.fields(kind))
    return tuple(
        (one.name, one.default is MISSING and one.default_factory is MISSING)
        for one in fields(kind)
    )


def _is_record(hint: Any) -> bool:
    return is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, msgspec.Struct))


def _zoneless(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is None


def _missing(name: str, expected: str, held: object, kind: object) -> str:
    """What is told of a key that is not there; `held` is the record that lacks it.

    What stands in it under a name that is nearly this one, and is none of the record's, is named.
    """
    told = f"missing; expected {expected}"
    if not isinstance(held, dict) or not _is_record(kind):
        return told
    known = {one for one, _ in _fields(kind)}
    others = [key[:100] for key in held if isinstance(key, str) and key not in known]
    near = nearest(name, others[:100])
    return f"{told}; did you mean this by {one_line(near)}?" if near else told


def _at(data: object, path: str) -> object:
    """What stands at a path such as "[0].lines" within plain data; None where nothing does."""
    for name, index in _STEP.findall(path):
        if isinstance(data, dict) and name:
            data = data.get(name)
        elif isinstance(data, list) and index.isdecimal() and int(index) < len(data):
            data = data[int(index)]
        else:
            return None
    return data


def _explained(
    error: msgspec.ValidationError, name: str, hint: object, data: object
) -> tuple[str, str]:
    """The key at or within `name` that is wrong, and what is wrong with it; `data` stands there."""
    match = _PLACE.fullmatch(str(error))
    what, rest = (match["what"], match["path"] or "") if match else (str(error), "")
    what = short(what.replace("`", ""))
    key = one_line(short(name + rest))
    if match and match["of_key"]:
        return key, "expected text as keys; put them in quotes"
    if what.startswith("Object missing required field "):
        missing = what.rpartition(" ")[2]
        expected = _expected(_inner(hint, f"{rest}.{missing}"))
        kind = _present(_inner(hint, rest))
        return f"{key}.{missing}", _missing(missing, expected, _at(data, rest), kind)
    expected = _expected(_inner(hint, rest))
    if wrong := _GOT.fullmatch(what):
        return key, f"expected {expected}, got {_WORDS.get(wrong['got'], wrong['got'])}"
    return key, one_line(f"{what}; expected {expected}")


def _explained_item(data: object, name: str, hint: Any) -> tuple[str, str] | None:
    """The first item of a mapping that is wrong, by its key, which msgspec does not tell."""
    hint = _present(hint)
    if isinstance(data, dict) and _is_mapping(hint) and get_args(hint):
        for key, value in data.items():
            try:
                _converted(value, get_args(hint)[-1])
            except msgspec.ValidationError as error:
                return _explained(error, f"{name}.{key}", get_args(hint)[-1], value)
    return None


def _inner(hint: Any, path: str) -> Any:
    """The type at a path such as "[0].lines" within a type; the type itself where it ends."""
    for name, index in _STEP.findall(path):
        hint = _present(hint)
        if _is_record(hint) and name:
            hint = hints_of(hint).get(name, hint)
        elif index and get_args(hint):
            hint = get_args(hint)[-1 if _is_mapping(hint) else 0]
    return hint


def _present(hint: Any) -> Any:
    """`hint` without "or null"."""
    if get_origin(hint) in (Union, UnionType):
        return next((part for part in get_args(hint) if part is not NoneType), hint)
    return hint


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _expected(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(member.value) for member in hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_expected(part) for part in get_args(hint)))
    if hint is NoneType:
        return "null"
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin is tuple:
        return _expected_list(get_args(hint))
    if _is_mapping(hint) or _is_record(hint):
        return "keys and values"
    name = getattr(hint, "__name__", str(hint))
    return _WORDS.get(name, name)


def _expected_list(items: tuple[Any, ...]) -> str:
    return "a list" if Ellipsis in items else f"a list of {len(items)}"


def _got(value: object) -> str:
    name = "float" if type(value) is int else type(value).__name__
    return _WORDS.get(name, name)
