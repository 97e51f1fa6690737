"""What a build had to do."""

from __future__ import annotations

from msgspec import Struct


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
