"""Text and data of a run, as every reader of JSON and Markdown takes it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from kbsite.harnesses.lines import dump
from kbsite.late import HALF

DEPTH = 64
"""Data nested deeper than this is written as JSON within a string."""

_ORDINARY = bytes(range(0x20, 0x7F)) + b"\t\n"


def ordinary(text: str) -> bool:
    """Whether a text is ASCII without any control but tabs and line ends, as most are."""
    return text.isascii() and not text.encode("ascii").translate(None, _ORDINARY)


def whole(text: str) -> str:
    r"""`text` without halves of characters: a byte that is no UTF-8 reads `\xff`."""
    return text if text.isascii() else HALF.sub(_escaped, text)


def _escaped(half: re.Match[str]) -> str:
    code = ord(half[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def plain(value: object, depth: int = 0) -> object:
    """`value` as JSON that every reader takes: finite, whole characters, of bounded depth."""
    match value:
        case str():
            return whole(value)
        case float() if not math.isfinite(value):
            return str(value)
        case dict() | list() if depth >= DEPTH:
            return whole(dump(value))
        case dict():
            return {whole(str(key)): plain(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, depth + 1) for item in value]
        case _:
            return value


def filled(facts: Mapping[str, object]) -> dict[str, object]:
    """The facts that are known: a key that would say nothing is left out."""
    return {key: value for key, value in facts.items() if value or value == 0}


def iso(moment: datetime | None) -> str | None:
    """A moment in ISO 8601, in UTC."""
    if moment is None:
        return None
    try:
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return moment.isoformat()
