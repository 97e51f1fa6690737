"""JSON and YAML text to plain data, strictly: what two readers could read in two ways is refused.

YAML is read as JSON would be: true, false, null, decimal numbers and text. What YAML 1.1 makes of
`on`, `12:30`, `0o17` or a date stays text, and no tag, anchor or merge is followed.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Final

import yaml

from kbsite.errors import READABLE, InputError, KbsiteError
from kbsite.late import HALF
from kbsite.model.finding import one_line, short
from kbsite.regular import LIMIT_BYTES
from kbsite.store.at_once import read_at_once
from kbsite.store.places import deep_line, line_at, token_line, twice_line

if TYPE_CHECKING:
    from kbsite.model.redaction import Span

LIMIT_YAML_BYTES: Final = 1_000_000
"""Persons write YAML, and it is slow to read: a megabyte is a book."""

LIMIT_DEPTH: Final = 100
"""No record nests deeper."""

LIMIT_DIGITS: Final = 18
"""No whole number of a record is longer, so that each fits 64 bits."""


class InvalidFileError(KbsiteError):
    """A file with one or more errors, all of them named."""

    def __init__(self, errors: list[InputError]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


def invalid(
    message: str, path: Path, *, line: int | None = None, key: str | None = None
) -> InvalidFileError:
    """A file with one error."""
    name = None if key is None else one_line(short(key))
    return InvalidFileError([InputError(one_line(message), path=path, line=line, key=name)])


def read_text(path: Path, limit: int = LIMIT_BYTES, hidden: Sequence[Span] = ()) -> str:
    """The text of a record's file, without what is hidden of it.

    InvalidFileError where that is no text.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise invalid("a symbolic link is not read; expected a regular file", path)
        if not stat.S_ISREG(status.st_mode):
            raise invalid("expected a regular file", path)
        size = status.st_size
        data = read_at_once(str(path), size, limit) if size <= limit else b""
    except (FileNotFoundError, NotADirectoryError) as error:
        raise invalid("no such file", path) from error
    except OSError as error:
        cure = f"; {READABLE}" if isinstance(error, PermissionError) else ""
        raise invalid(f"cannot be read: {error.strerror}{cure}", path) from error
    if max(size, len(data)) > limit:
        raise invalid(f"too large; expected at most {limit} bytes", path, line=1)
    if hidden:
        from kbsite.model.redaction import covered

        data = covered(data, hidden)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = f"expected UTF-8 text, got byte 0x{data[error.start]:02x}"
        raise invalid(message, path, line=line) from error


def json_data(path: Path, text: str, *, any_text: bool = False) -> object:
    """What a JSON text says; `any_text` lets pass the halves of characters that name files."""
    if text.startswith("\ufeff"):
        raise invalid("starts with a byte order mark; JSON has none", path, line=1)
    if not text.strip("\0 \t\r\n"):
        what = "nothing but zeros" if "\0" in text else "empty"
        message = f"{what}, as a full disk or a crash leaves a file; put back what it held"
        raise invalid(message, path, line=1)
    import json

    try:
        data = json.loads(
            text,
            object_pairs_hook=lambda items: _object(path, text, items),
            parse_constant=lambda token: _no_number(path, text, token, "is not JSON; write null"),
            parse_int=lambda token: _whole(path, text, token),
            parse_float=lambda token: _real(path, text, token),
        )
        if not any_text and "\\u" in text:
            _refuse_halves(path, text, data)
    except json.JSONDecodeError as error:
        raise invalid(f"not valid JSON: {error.msg}", path, line=error.lineno) from error
    except RecursionError as error:
        line = deep_line(text, LIMIT_DEPTH)
        raise invalid("nested too deeply", path, line=line) from error
    return data


def _object(path: Path, text: str, items: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in items:
        if name in found:
            raise invalid("stands there twice", path, line=twice_line(text, name), key=name)
        found[name] = [_once(one) for one in value] if isinstance(value, list) else _once(value)
    return found


_SHORT = 200
"""Characters of a text that is held once, however often it is read."""


def _once(value: object) -> object:
    """A value; a short text as it is held: thousands of runs say the same of host and harness."""
    return intern(value) if type(value) is str and len(value) <= _SHORT else value


def _no_number(path: Path, text: str, token: str, why: str) -> float:
    shown = token if len(token) <= 20 else f"{token[:20]}…"
    raise invalid(f"{shown} {why}", path, line=token_line(text, token))


def _whole(path: Path, text: str, token: str) -> int | float:
    if len(token.lstrip("-")) > LIMIT_DIGITS:
        return _no_number(path, text, token, f"has more than {LIMIT_DIGITS} digits")
    return int(token)


def _real(path: Path, text: str, token: str) -> float:
    value = float(token)
    if math.isinf(value):
        return _no_number(path, text, token, "is too large")
    return value


def _refuse_halves(path: Path, text: str, data: object) -> None:
    # Half a surrogate pair is valid JSON, but no text: it could not be written anywhere.
    import json

    half = HALF.search(json.dumps(data, ensure_ascii=False))
    if half:
        escape = f"\\u{ord(half[0]):04x}"
        offset = text.lower().find(escape)
        line = line_at(text, offset) if offset >= 0 else None
        raise invalid(f"{escape} is half of a character", path, line=line)


class _Loader(yaml.CSafeLoader):
    """YAML with the scalars of JSON."""

    yaml_implicit_resolvers = {}  # noqa: RUF012


for _tag, _form, _starts in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", rf"[-+]?(?:0|[1-9][0-9]{{0,{LIMIT_DIGITS - 1}}})", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?"
              r"|[-+]?[0-9]+[eE][-+]?[0-9]{1,2}", list("-+.0123456789")),
):  # fmt: skip
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_form})$"), _starts
    )


def yaml_data(path: Path, text: str) -> object:
    """What a YAML text says."""
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            depth += _deeper(event)
            _refuse(event, path, depth)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse_twice(node, path)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        why = short(error.problem or error.context or "")
        if why == "but found another document":
            why = "another document begins here; delete the dashes, or what follows"
        message = f"not valid YAML: {why}"
        raise invalid(message, path, line=line) from error
    except yaml.reader.ReaderError as error:
        message = f"not valid YAML: {error.reason}"
        raise invalid(message, path, line=line_at(text, error.position)) from error


def _deeper(event: yaml.Event) -> int:
    if isinstance(event, yaml.CollectionStartEvent):
        return 1
    return -1 if isinstance(event, yaml.CollectionEndEvent) else 0


def _refuse(event: yaml.Event, path: Path, depth: int) -> None:
    line = None if event.start_mark is None else event.start_mark.line + 1
    if depth > LIMIT_DEPTH:
        raise invalid("nested too deeply", path, line=line)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        message = "anchors and aliases are not read; write the value out"
        raise invalid(message, path, line=line)
    tag = getattr(event, "tag", None)
    if tag:
        raise invalid(f"the tag {short(tag)} is not read; write a plain value", path, line=line)


def _refuse_twice(node: yaml.Node, path: Path) -> None:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_twice(item, path)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                line = key.start_mark.line + 1
                raise invalid("stands there twice", path, line=line, key=key.value)
            seen.add(key.value)
        _refuse_twice(value, path)
