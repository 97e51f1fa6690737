"""What there is to read in rows and their parts, whatever their shape."""

from __future__ import annotations

from collections.abc import Mapping

from kbsite.harnesses.lines import mapping, sequence, text

_WORDING = ("text", "content", "file", "subject", "message", "blockingError", "additionalContext")


def wording(value: object, depth: int = 8) -> str:
    """What there is to read in a value of any shape: texts, lists of them, objects around them."""
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (wording(item, depth - 1) for item in sequence(value))))
    if isinstance(value, dict) and depth:
        inner = next((value[key] for key in _WORDING if value.get(key)), None)
        return text(value or None) if inner is None else wording(inner, depth - 1)
    return text(value)


def rendered(value: Mapping[str, object]) -> str:
    """What the model was shown of an attachment, where the row has it word for word."""
    parts = (text(mapping(part).get("content")) for part in sequence(value.get("rendered")))
    return "\n\n".join(part for part in parts if part)
