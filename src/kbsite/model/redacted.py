"""data/redaction.json: which of the files of runs a site does not publish as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

FORMAT: Final = 1
"""Version of the format of data/redaction.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedFile:
    """A file of a run that is published with parts of it covered."""

    run: str
    """The run's id."""
    file: str
    """Its name within the run."""
    before: str
    """SHA-256 of the file as it lies in the run directory."""
    after: str
    """SHA-256 of the file as it is published."""
    hits: Mapping[str, int] = field(default_factory=dict)
    """How many passages of each kind were covered."""
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The lines that the first of them begin in, by kind; nobody counts those of an archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactions:
    """data/redaction.json."""

    format: Literal[1]
    files: tuple[RedactedFile, ...]
