"""Keys of kbsite.yaml that kbsite does not know: a misspelt one would silently mean nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from kbsite.model.config import Allowed, BoardConfig, Config, DeckGroup, Leak, Redact, Storage
from kbsite.model.finding import Finding, Severity, nearest, short
from kbsite.store.places import lines_of

MOST = 100
"""Unknown keys that are named."""

Within = Mapping[type, Mapping[str, type]]
"""The records that stand under keys of others, alone or in lists."""

_WITHIN: Within = {
    Config: {"storage": Storage, "redact": Redact, "boards": BoardConfig, "leaks": Leak},
    BoardConfig: {"groups": DeckGroup},
    Redact: {"allow": Allowed},
}

_PLACES: dict[type[Struct], str] = {
    Config: "the top of the file",
    BoardConfig: "an item of boards",
    DeckGroup: "an item of a board's groups",
    Storage: "storage",
    Redact: "redact",
    Allowed: "an item of redact.allow",
    Leak: "an item of leaks",
}
"""Where the keys of each record stand."""


def unknown_keys(data: object, path: Path, text: str) -> tuple[Finding, ...]:
    """A warning for each key of a kbsite.yaml that nobody knows: `redcat` would hide nothing."""
    found = [*islice(unknown(data, Config, _WITHIN), MOST)]
    lines = lines_of(text, [f".{key}" for key, _, _ in found]) if found else []
    return tuple(
        Finding(Severity.WARNING, str(path), ignored(name, kind), line=line, key=short(key))
        for (key, name, kind), line in zip(found, lines, strict=True)
    )


def ignored(name: str, kind: type) -> str:
    """What is told of a key that a record does not know: where it stands, or what was meant."""
    at = [place for other, place in _PLACES.items() if kind in _PLACES and name in _names(other)]
    if at:
        return f"unknown here, so it is ignored; it is a key of {' or of '.join(at)}"
    known = _names(kind)
    near = nearest(name, known)
    meant = f"did you mean {near}?" if near else f"known are {', '.join(known)}"
    return f"unknown, so it is ignored; {meant}"


def unknown(
    item: object, kind: type, within: Within, place: str = ""
) -> Iterator[tuple[str, str, type]]:
    """The path, the name, and the record of each key that is none of that record's."""
    known = _names(kind)
    for name, value in item.items() if isinstance(item, dict) else ():
        key = f"{place}.{name}" if place else str(name)
        inner = within.get(kind, {}).get(name)
        if name not in known:
            yield key, str(name), kind
        elif inner and isinstance(value, list):
            for number, one in enumerate(value):
                yield from unknown(one, inner, within, f"{key}[{number}]")
        elif inner:
            yield from unknown(value, inner, within, key)


def _names(kind: Any) -> tuple[str, ...]:
    if issubclass(kind, Struct):
        return tuple(kind.__struct_fields__)
    return tuple(one.name for one in fields(kind))
