"""What a JSON body holds, where it may hold anything."""

from __future__ import annotations

from typing import Any

_TEXTS = ("text", "content", "parts", "output", "encrypted_content")


def mapping(value: object) -> dict[str, Any]:
    """The keys and values, or none."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The mappings in a list; the rest is left out."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def word(value: object) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def words(value: object, depth: int = 8) -> str:
    """All text in a content, however its parts are wrapped."""
    if depth == 0:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (words(one, depth - 1) for one in value)))
    if isinstance(value, dict):
        return next(filter(None, (words(value.get(key), depth - 1) for key in _TEXTS)), "")
    return ""
