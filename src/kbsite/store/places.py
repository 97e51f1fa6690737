"""Where things stand in the text of a record: asked only once something is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml
from msgspec import Struct

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class _Level(Struct):
    """An object or a list that is open while its text is read."""

    path: str
    index: int | None
    """Of the item in a list; None in an object."""
    here: str
    """Path of the key or item that is being read."""
    fresh: bool = True
    """Whether a key or an item comes next."""

    def enter(self, sign: str) -> str:
        """The path of the key or item that starts with this sign; empty if none does."""
        if sign == ",":
            self.fresh = True
            self.index = None if self.index is None else self.index + 1
            return ""
        if not self.fresh or sign in ("}", "]", ":"):
            return ""
        self.fresh = False
        step = f".{_unquoted(sign)}" if self.index is None else f"[{self.index}]"
        self.here = self.path + step
        return self.here


class Place(Struct, frozen=True):
    """A token of a JSON text."""

    token: str
    offset: int
    depth: int
    """Number of objects and lists around it."""
    path: str
    """Such as ".quotes[0].text" where a key or an item of a list starts, else empty."""


def json_places(text: str) -> Iterator[Place]:
    """The tokens of a JSON text in order; what is no JSON is passed over."""
    levels: list[_Level] = []
    for match in _TOKEN.finditer(text):
        sign = match[0]
        path = levels[-1].enter(sign) if levels else ""
        yield Place(sign, match.start(), len(levels), path)
        if sign in ("{", "["):
            inside = levels[-1].here if levels else ""
            levels.append(_Level(inside, 0 if sign == "[" else None, inside))
        elif sign in ("}", "]") and levels:
            levels.pop()


def _unquoted(token: str) -> str:
    try:
        import json

        return str(json.loads(token, strict=False))
    except ValueError:
        return token


def line_at(text: str, offset: int) -> int:
    """The line of an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def token_line(text: str, token: str) -> int | None:
    """The line in which a number or word first stands in a JSON text, outside of strings."""
    return next((line_at(text, p.offset) for p in json_places(text) if p.token == token), None)


def deep_line(text: str, depth: int) -> int | None:
    """The line in which a JSON text is first nested as deep as this."""
    return next((line_at(text, p.offset) for p in json_places(text) if p.depth >= depth), None)


def twice_line(text: str, name: str) -> int | None:
    """The line in which a JSON object repeats one of its keys, which is `name`."""
    seen: set[str] = set()
    for place in json_places(text):
        if place.path.endswith(f".{name}"):
            if place.path in seen:
                return line_at(text, place.offset)
            seen.add(place.path)
    return None


def line_of(text: str, key: str) -> int | None:
    """The line in which the value at a path such as ".usage.input" or ".quotes[0].text" stands.

    The line of the nearest key or item around it, where the text does not go that deep.
    """
    return lines_of(text, [key])[0]


def lines_of(text: str, keys: list[str]) -> list[int | None]:
    """The line of each of several paths; the text is read once, however long it is."""
    if text.lstrip()[:1] == "{":
        found = _json_lines(text, keys)
        if any(found):
            return found
    return _yaml_lines(text, keys)


def _json_lines(text: str, keys: list[str]) -> list[int | None]:
    wanted = {path for key in keys for path in _around(key)}
    offsets: dict[str, int] = {}
    for place in json_places(text):
        if place.path in wanted:
            offsets.setdefault(place.path, place.offset)
    best = [next((offsets[p] for p in _around(key) if p in offsets), None) for key in keys]
    return [None if offset is None else line_at(text, offset) for offset in best]


def _around(key: str) -> list[str]:
    """A path and those of the keys and items around it, from the inside."""
    steps = [match.end() for match in _STEP.finditer(key)]
    return [key[:end] for end in reversed(steps)]


def _yaml_lines(text: str, keys: list[str]) -> list[int | None]:
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError):
        return [None for _ in keys]
    return [_yaml_line(node, key) for key in keys]


def _yaml_line(node: yaml.Node | None, key: str) -> int | None:
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
