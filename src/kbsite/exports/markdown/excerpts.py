"""Head and tail of a long text, and a count of what is missing between them."""

from __future__ import annotations

from msgspec import Struct


class Bound(Struct, frozen=True):
    """How much of a text is kept: so much of its head, and as much of its tail."""

    lines: int
    characters: int


TEXT = Bound(100, 4_000)
"""What people and the model say, and what a call asks for."""
OUTPUT = Bound(12, 1_000)
"""What tools gave back, and what the CLI put in by itself."""


class Left(Struct):
    """What is left out."""

    characters: int = 0
    places: int = 0
    rows: int = 0
    pictures: int = 0


def excerpt(text: str, bound: Bound, left: Left) -> str:
    """`text`, or its head and tail with a line between them that counts what is missing."""
    if len(text) <= bound.characters and text.count("\n") < bound.lines:
        return text
    head, tail = _ends(text, bound)
    missing = text[len(head) : len(text) - len(tail)]
    if len(head) + len(tail) >= len(text) or len(missing) < 200:
        return text
    left.characters += len(missing)
    left.places += 1
    count = f"{len(missing):,} characters, {missing.count(chr(10)):,} line ends"
    return f"{head}\n[… {count} left out …]\n{tail}"


def _ends(text: str, bound: Bound) -> tuple[str, str]:
    """As much of both ends as the bound allows, in lines and in characters."""
    head = text[: bound.characters].splitlines(keepends=True)
    tail = text[-bound.characters :].splitlines(keepends=True)
    return "".join(head[: bound.lines]), "".join(tail[-bound.lines :])
