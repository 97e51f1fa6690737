"""The latest of what a rollout tells: what is remembered of a file does not grow with it."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def remember(held: dict[str, T], key: str, value: T, most: int) -> None:
    """Take in one more value; the first one goes where there are as many as `most` already."""
    if len(held) >= most:
        held.pop(next(iter(held)))
    held[key] = value
