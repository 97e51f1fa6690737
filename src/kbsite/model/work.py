"""What a build, or whoever else goes through many runs, had to do, and tells of it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

Tick = Callable[[str, int, int], None]
"""Told what has been done, how many things are done, and how many there are."""


class Work(Struct):
    """What a build had to do, the same however many processes did it."""

    parsed: int = 0
    """Transcripts that were read."""
    rendered: int = 0
    """Pages that were made from templates, the parts of transcripts among them."""
    written: int = 0
    """Files whose content is new."""
    kept: int = 0
    """Files that are what they were."""
