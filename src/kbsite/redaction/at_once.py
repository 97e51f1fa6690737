"""How much is read at once of what goes on over many lines."""

from __future__ import annotations

from typing import Final

READ: Final = 32_768
"""Bytes that are read at once."""

OVERLAP: Final = 8192
"""Bytes of them that are read once more, for what goes on there."""
