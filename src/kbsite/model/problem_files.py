"""How large the files of a problem may be, for whoever publishes it and whoever grades by it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kbsite.errors import InputError

LONGEST: Final = 1_000_000
"""Bytes that a statement or a reference has at most."""

LARGEST: Final = 1_000_000_000
"""Bytes that a file of a problem has at most: also a sparse one of more is read to its end."""


def counts(name: str) -> bool:
    """Whether a problem's hash is made of the file of this path in its folder, too.

    Hidden files do not count, nor do caches that Python makes of a file that it imports.
    """
    return not any(part.startswith((".", "__pycache__")) for part in name.split("/"))


def refuse_large(path: Path, size: int) -> None:
    """Raise InputError for a file of a problem that nobody has the time to read."""
    if size > LARGEST:
        message = f"{size} bytes; expected at most {LARGEST} in a file of a problem"
        raise InputError(f"{message}; keep it elsewhere, or make it smaller", path=path)
