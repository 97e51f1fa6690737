"""The latest of what a file tells: what is remembered of it does not grow with it."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(held: dict[K, V], key: K, value: V, most: int) -> None:
    """Take in one more value; the first one goes where there are as many as `most` already."""
    if len(held) >= most:
        held.pop(next(iter(held)))
    held[key] = value
