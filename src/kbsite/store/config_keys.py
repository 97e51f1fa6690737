"""Keys of kbsite.yaml that kbsite does not know: a misspelt one would silently mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from kbsite.model.config import Allowed, BoardConfig, Config, DeckGroup, Leak, Redact, Storage
from kbsite.model.finding import Finding, Severity, nearest, short
from kbsite.store.parsing import LIMIT_YAML_BYTES, InvalidFileError, read_text, yaml_data
from kbsite.store.places import lines_of

Say = Callable[[str, str], None]
"""Takes a key, and what there is to say of it."""

MOST = 100
"""Unknown keys that are named."""

_WITHIN: dict[type[Struct], dict[str, type[Struct]]] = {
    Config: {"storage": Storage, "redact": Redact, "boards": BoardConfig, "leaks": Leak},
    BoardConfig: {"groups": DeckGroup},
    Redact: {"allow": Allowed},
}
"""The records that stand under keys of others, alone or in lists."""


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


def config_key_remarks(path: Path, warn: Say) -> None:
    """Say of each key of a kbsite.yaml that nobody knows what was meant, or where it stands."""
    try:
        data = yaml_data(path, read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff"))
    except InvalidFileError:
        return  # it was read a moment ago
    for key, name, kind in islice(_unknown(data, "", Config), MOST):
        warn(key, _ignored(name, kind))


def _ignored(name: str, kind: type[Struct]) -> str:
    at = [place for other, place in _PLACES.items() if name in other.__struct_fields__]
    if at:
        return f"unknown here, so it is ignored; it is a key of {' or of '.join(at)}"
    return f"unknown, so it is ignored; {meant(name, kind.__struct_fields__)}"


def unknown_keys(path: Path) -> Iterator[Finding]:
    """A warning for each key of a kbsite.yaml that nobody knows: `redcat` would hide nothing."""
    said: list[tuple[str, str]] = []
    config_key_remarks(path, lambda key, message: said.append((key, message)))
    if not said:
        return
    try:
        text = read_text(path)
    except InvalidFileError:
        text = ""  # it was read a moment ago; without it there are no lines to name
    lines = lines_of(text, [f".{key}" for key, _ in said])
    for (key, message), line in zip(said, lines, strict=True):
        yield Finding(Severity.WARNING, str(path), message, line=line, key=short(key))


def meant(name: str, known: Sequence[str]) -> str:
    """What an unknown key may have been meant for."""
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"known are {', '.join(known)}"


def _unknown(
    item: object, within: str, kind: type[Struct]
) -> Iterator[tuple[str, str, type[Struct]]]:
    """The path, the name, and the record of each key that is none of that record's."""
    for name, value in item.items() if isinstance(item, dict) else ():
        key = f"{within}.{name}" if within else str(name)
        inner = _WITHIN.get(kind, {}).get(name)
        if name not in kind.__struct_fields__:
            yield key, str(name), kind
        elif inner and isinstance(value, list):
            for number, one in enumerate(value):
                yield from _unknown(one, f"{key}[{number}]", inner)
        elif inner:
            yield from _unknown(value, key, inner)
