"""Texts of a run between marks that nothing in them can close: none can pass for a heading."""

from __future__ import annotations

import re
from unicodedata import category

from kbsite.exports.plain import ordinary, whole

LONGEST = 2_000
"""Characters of a fact that are shown."""

_TICKS = re.compile("`+")
_ONE_WORD = re.compile(r"[A-Za-z0-9_.-]+")
"""What most names are, and all anchors: it stands between marks as it is."""


def fenced(text: str) -> str:
    """`text` between fences that nothing in it can close."""
    fence = "`" * (_longest_ticks(text) + 1) if "```" in text else "```"
    return f"{fence}text\n{shown(text).rstrip(chr(10))}\n{fence}"


def code(text: str) -> str:
    """`text` on one line, in marks that nothing in it can close."""
    if len(text) <= LONGEST and _ONE_WORD.fullmatch(text):
        return f"`{text}`"
    line = " ".join(shown(text[:LONGEST]).split()) or "(empty)"
    if len(text) > LONGEST:
        line += f" … and {len(text) - LONGEST:,} characters more"
    ticks = "`" * (_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def aside(text: str) -> str:
    """`text` in brackets behind what it belongs to; nothing where there is none."""
    return f" ({code(text)})" if text else ""


def _longest_ticks(text: str) -> int:
    if "`" not in text:
        return 0
    return max(map(len, _TICKS.findall(text)))


def shown(text: str) -> str:
    """`text` with what has no shape of its own, or turns text around, written as an escape."""
    if ordinary(text):
        return text
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # what is odd is not printable, nor is half of a character
    text = whole(text)
    # There are few of them, in a text and at all, and a table is asked for every character.
    for char in set(text) - _EVEN:
        if category(char) in _ODD:
            point = ord(char)
            text = text.replace(char, f"\\u{point:04x}" if point > 255 else f"\\x{point:02x}")
    return text


_EVEN = frozenset("\n\t").union(map(chr, range(0x20, 0x7F)))
_ODD = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Controls, marks of direction and joining, and line ends that only some readers know."""
