"""The arguments of an offered tool, filled in by what its schema calls them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bench.scripted.bodies import mapping, mappings, word
from bench.scripted.conversation import Tool

_EMPTY: Mapping[str, Any] = {
    "string": "", "boolean": False, "integer": 0, "number": 0, "array": [], "object": {},
}  # fmt: skip
_SHORT = 10_000
"""A limit for a time below this is one in seconds."""


class Form:
    """Arguments under way."""

    def __init__(self, tool: Tool) -> None:
        self._schema = tool.schema
        self.properties = mapping(tool.schema.get("properties"))
        self._values: dict[str, Any] = {}

    def named(self, *names: str) -> str | None:
        """The first of these names that the schema has."""
        return next((name for name in names if name in self.properties), None)

    def property(self, name: str) -> Mapping[str, Any]:
        """What the schema says of an argument, without "or null" and references."""
        return resolved(mapping(self.properties.get(name)), self._schema)

    def put(self, value: Any, *names: str) -> None:
        """The value under the first of these names that the schema has, or under the first."""
        self._values[self.named(*names) or names[0]] = value

    def offer(self, value: Any, *names: str) -> None:
        """The value under the first of these names that the schema has; nothing without one."""
        if name := self.named(*names):
            self._values[name] = value

    def items(self, name: str) -> Mapping[str, Any]:
        """The properties of an item, for an argument that is a list of mappings."""
        inner = resolved(mapping(self.property(name).get("items")), self._schema)
        return mapping(inner.get("properties"))

    def offer_seconds(self, seconds: int, *names: str) -> None:
        """A time in the unit that the schema means, at most what it allows."""
        name = self.named(*names)
        if name is None:
            return
        about = self.property(name)
        value = seconds if _in_seconds(name, about) else seconds * 1000
        self._values[name] = min(value, _most(about))

    def filled(self) -> dict[str, Any]:
        """All that was put, with something for each argument that is still required."""
        required = self._schema.get("required")
        for name in required if isinstance(required, list) else []:
            if isinstance(name, str) and name not in self._values:
                self._values[name] = _default(self.property(name))
        return self._values


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without a reference into `root`, and without "or null"."""
    for _ in range(4):
        if "$ref" in schema:
            name = word(schema["$ref"]).rpartition("/")[2]
            held = mapping(root.get("$defs")) or mapping(root.get("definitions"))
            schema = mapping(held.get(name))
            continue
        choices = mappings(schema.get("anyOf"))
        choice = next((one for one in choices if one.get("type") != "null"), None)
        if choice is None:
            break
        schema = choice
    return schema


def _in_seconds(name: str, about: Mapping[str, Any]) -> bool:
    text = word(about.get("description")).lower()
    if name.endswith("_ms") or "milli" in text:
        return False
    return "second" in text or _most(about) < _SHORT


def _most(about: Mapping[str, Any]) -> int | float:
    """The largest number that the schema allows; infinite where it tells none."""
    most = about.get("maximum")
    return most if isinstance(most, int | float) and most >= 1 else math.inf


def _default(about: Mapping[str, Any]) -> Any:
    choices = about.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = about.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return _EMPTY.get(kind, "") if isinstance(kind, str) else ""
