"""Terminal output as HTML: its colours and weights, all else as the text that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape

from markupsafe import Markup

from kbsite.text import content, visible

_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}


def terminal(text: str) -> Markup:
    """Terminal output: colours and weights of ANSI sequences as spans, all else as plain text."""
    if "\x1b[" not in text:
        return content(text)
    # No sequence holds a sign that is escaped: all is escaped at once, and then taken apart.
    parts = _SGR.split(escape(text, quote=False))
    told, sequences = parts[::2], parts[1::2]
    whole = "".join(told)
    if "\r" in whole or visible(whole) != whole:
        told = [visible(piece) for piece in told]
    pieces, style = told[:1], frozenset[str]()
    for codes, piece in zip(sequences, told[1:], strict=True):
        style = _known(style, codes) if len(codes) < _LONG else _restyled(style, codes)
        if piece:
            pieces.append(f"{_opened(style)}{piece}</i>" if style else piece)
    return Markup("".join(pieces))  # noqa: S704 - each of them is escaped


@lru_cache(256)
def _opened(style: frozenset[str]) -> str:
    return f'<i class="{" ".join(f"a-{name}" for name in sorted(style))}">'


def _restyled(style: frozenset[str], codes: str) -> frozenset[str]:
    held = set(style)
    _restyle(held, codes)
    return frozenset(held)


_LONG = 20
"""Characters of a sequence from which on it is some hostile one, and not remembered."""

_known = lru_cache(1024)(_restyled)
"""The same, remembered: programs write the same few sequences over and over."""


def _restyle(style: set[str], codes: str) -> None:
    numbers = iter([int(code.lstrip("0")[:4] or 0) for code in codes.split(";")])
    for number in numbers:
        if number == 0:
            style.clear()
        elif number in _STYLES:
            style.add(_STYLES[number])
        elif number == 22:
            style.difference_update({"bold", "faint"})
        elif number - 20 in _STYLES:
            style.discard(_STYLES[number - 20])
        elif number in (38, 48):
            _indexed(style, number, numbers)
        elif 30 <= number <= 49 or 90 <= number <= 97 or 100 <= number <= 107:
            _colour(style, number)


def _indexed(style: set[str], number: int, numbers: Iterator[int]) -> None:
    """The colours that take arguments; only the 16 that have a name are shown."""
    _colour(style, number + 1)
    kind = next(numbers, 0)
    if kind == 2:
        for _ in range(3):
            next(numbers, 0)
    elif kind == 5:
        index = next(numbers, 16)
        if index < 16:
            base = number - 8 if index < 8 else number + 52
            _colour(style, base + index % 8)


def _colour(style: set[str], number: int) -> None:
    on = "on-" if 40 <= number <= 49 or number >= 100 else ""
    style.difference_update(f"{on}{name}" for name in _COLOURS)
    if number not in (39, 49):
        style.add(f"{on}{_COLOURS[number % 10]}")
