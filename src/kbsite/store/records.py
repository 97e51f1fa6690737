"""JSON and YAML files to typed records, with errors that name file, line, key and expectation.

msgspec does the conversion: it reads plain dataclasses, is strict, and makes JSON Schema of the
same types. PyYAML tells in which line a key stands, for JSON too, which is close enough to YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml

from kbsite.errors import InputError, KbsiteError

T = TypeVar("T")

LIMIT_BYTES = 4_000_000
"""No record that a person or a runner writes is larger; a larger file is refused unread."""

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$(?P<path>.*?)`)?$", re.DOTALL)
_GOT = re.compile(r"Expected (.+), got (.+)")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class InvalidFileError(KbsiteError):
    """A file with one or more errors, all of them named."""

    def __init__(self, errors: list[InputError]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


def json_record(path: Path, kind: type[T]) -> T:
    """The record of type `kind` in a JSON file; InvalidFileError names everything that is wrong."""
    text = _text(path)
    return record(_json(path, text), kind, path, text)


def yaml_record(path: Path, kind: type[T]) -> T:
    """The record of type `kind` in a YAML file; InvalidFileError names everything that is wrong."""
    text = _text(path)
    return record(_yaml(path, text), kind, path, text)


def record(data: object, kind: type[T], path: Path, text: str) -> T:
    """`data`, which `path` holds as `text`, as a record; unknown keys are left alone."""
    if not isinstance(data, dict):
        error = InputError(f"expected keys and values, got {_name(data)}", path=path, line=1)
        raise InvalidFileError([error])
    hints = get_type_hints(kind)
    values: dict[str, object] = {}
    errors: list[InputError] = []
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in data:
            if _required(field):
                expected = _expected(hints[field.name])
                message = f"missing; expected {expected}"
                errors.append(InputError(message, path=path, key=field.name))
            continue
        try:
            values[field.name] = msgspec.convert(data[field.name], hints[field.name])
        except msgspec.ValidationError as error:
            errors.append(_error(error, field.name, hints[field.name], path, text))
    if errors:
        raise InvalidFileError(errors)
    return kind(**values)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _text(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        raise InvalidFileError([InputError("expected a regular file", path=path)])
    size = path.stat().st_size
    if size > LIMIT_BYTES:
        message = f"{size} bytes; a record has at most {LIMIT_BYTES}"
        raise InvalidFileError([InputError(message, path=path)])
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        message = f"expected UTF-8 text, got byte 0x{error.object[error.start]:02x}"
        raise InvalidFileError([InputError(message, path=path, line=line)]) from error


def _json(path: Path, text: str) -> object:
    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidFileError([InputError("stands there twice", path=path, key=twice)])
        return found

    def constant(name: str) -> float:
        raise InvalidFileError([InputError(f"{name} is not JSON; write null", path=path)])

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        message = f"not valid JSON: {error.msg}"
        raise InvalidFileError([InputError(message, path=path, line=error.lineno)]) from error
    except RecursionError as error:
        raise InvalidFileError([InputError("nested too deeply", path=path)]) from error


def _yaml(path: Path, text: str) -> object:
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            _refuse(event, path)
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        if node is None:
            return None
        _refuse_twice(node, path)
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        message = f"not valid YAML: {error.problem or error.context}"
        raise InvalidFileError([InputError(message, path=path, line=line)]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidFileError([InputError(f"not valid YAML: {error}", path=path)]) from error
    except RecursionError as error:
        raise InvalidFileError([InputError("nested too deeply", path=path)]) from error


def _refuse(event: yaml.Event, path: Path) -> None:
    line = None if event.start_mark is None else event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        message = "anchors and aliases are not read; write the value out"
        raise InvalidFileError([InputError(message, path=path, line=line)])
    tag = getattr(event, "tag", None)
    if tag:
        message = f"the tag {tag} is not read; write a plain value"
        raise InvalidFileError([InputError(message, path=path, line=line)])


def _refuse_twice(node: yaml.Node, path: Path) -> None:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_twice(item, path)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if str(key.value) in seen:
            error = InputError(
                "stands there twice", path=path, line=key.start_mark.line + 1, key=key.value
            )
            raise InvalidFileError([error])
        seen.add(str(key.value))
        _refuse_twice(value, path)


def _error(
    error: msgspec.ValidationError, name: str, hint: object, path: Path, text: str
) -> InputError:
    match = _PLACE.match(str(error))
    what, rest = (match["what"], match["path"] or "") if match else (str(error), "")
    what = what.replace("`", "")
    if wrong := _GOT.fullmatch(what):
        what = f"expected {wrong[1] if rest else _expected(hint)}, got {wrong[2]}"
    elif not rest:
        what += f"; expected {_expected(hint)}"
    key = name + rest
    return InputError(what, path=path, line=line_of(text, f".{key}"), key=key)


def line_of(text: str, key: str) -> int | None:
    """The line in which the value at a path such as ".usage.input" or ".quotes[0].text" stands."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    line = None
    for name, index in _STEP.findall(key):
        if isinstance(node, yaml.MappingNode):
            found = [(k, v) for k, v in node.value if k.value == name]
            node = found[0][1] if found else None
            line = found[0][0].start_mark.line + 1 if found else line
        elif isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _expected(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(member.value) for member in hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return " or ".join(_expected(part) for part in get_args(hint))
    if hint is type(None):
        return "null"
    if str(origin) == "typing.Literal":
        return " or ".join(map(repr, get_args(hint)))
    if origin is tuple:
        return "a list"
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return "keys and values"
    names = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
             "datetime": "a time with zone (ISO 8601)", "date": "a date (YYYY-MM-DD)"}  # fmt: skip
    return names.get(getattr(hint, "__name__", ""), getattr(hint, "__name__", str(hint)).lower())


def _name(value: object) -> str:
    names = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
