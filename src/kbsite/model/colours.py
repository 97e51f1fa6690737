"""Colours that a program printed: they are no part of what it said."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """A text without the codes that colour it on a terminal."""
    return _COLOUR.sub("", text) if "\x1b[" in text else text
