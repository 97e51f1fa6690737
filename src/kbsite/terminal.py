"""Terminal output as HTML: its colours and weights, all else as the text that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from markupsafe import Markup

from kbsite.text import escaped, inner, visible

_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_BOLD, _FAINT = 1, 2
_STYLES = {_BOLD, _FAINT, 3, 4, 7, 9}
"""Weights, italic, underline, inverse and strike; 20 more takes one back."""
_BARE = {frozenset({32}): "u", frozenset({_FAINT}): "i"}
_LETTERS, _GROUNDS = 30, 40
"""The first of eight colours of each; 9 more is the page's own."""
IN_PLACE = 1_000
"""Coloured pieces of a text among others: a browser works out the looks of each of them."""
_ALONE = 20_000
"""Those of a text that has a page of its own."""


def terminal(text: str) -> Markup:
    """Terminal output: colours and weights of ANSI sequences as classes, all else as plain text.

    A class is called by the code of ANSI, since outputs are full of them: "a31" is red. What tests
    print most has a tag alone: u is green, i is faint.
    """
    return Markup(inner_terminal(text))  # noqa: S704 - it is escaped there


def inner_terminal(text: str, most: int = IN_PLACE) -> str:
    """The same for who writes HTML by hand; what follows `most` coloured pieces is plain text."""
    if "\x1b[" not in text:
        return inner(text)
    # No sequence holds a sign that is escaped: all is escaped at once, and then taken apart.
    parts = _SGR.split(escaped(text))
    told, sequences = parts[::2], parts[1::2]
    whole = "".join(told)
    if "\r" in whole or visible(whole) != whole:
        told = [visible(piece) for piece in told]
    pieces, style, tags, coloured = told[:1], frozenset[int](), _tags(frozenset()), 0
    for at, codes in enumerate(sequences, start=1):
        style = _known(style, codes) if len(codes) < _LONG else _restyled(style, codes)
        if not told[at]:
            continue
        opened, closed = _tags(style)
        # Who colours each of many signs anew, as pytest its dots, colours them once.
        if opened != tags[0]:
            pieces.append(tags[1])
            if coloured == most:
                return "".join((*pieces, *told[at:]))
            coloured += bool(opened)
            pieces.append(opened)
            tags = opened, closed
        pieces.append(told[at])
    return "".join((*pieces, tags[1]))


def breakable(text: str) -> Markup:
    """Terminal output as a page of its own shows it, with places where its long lines may break.

    A browser lays out a line of signs that its font lacks, as those of a progress bar's carriage
    returns, in the square of its length: a megabyte of them showed nothing for minutes. It lays out
    the pieces between these places one by one; no character is added, and none is moved.
    """
    lines = inner_terminal(text, _ALONE).split("\n")
    whole = [line if len(line) <= _PIECE or line.isascii() else _in_pieces(line) for line in lines]
    if len(whole) > _MANY:
        return Markup("".join(_stretches(whole)))  # noqa: S704 - it is escaped there
    return Markup("\n".join(whole))  # noqa: S704 - it is escaped there


_MANY = 2000
"""Lines from which on a browser lays out stretches of a text as they come into sight."""
_STRETCH = 25
"""Lines of such a stretch: the style of pages takes it to be so long while it is out of sight.

A window is about as long: where lines take more room than that, little above it moves.
"""


def _stretches(lines: Sequence[str]) -> Iterator[str]:
    """Lines in spans of some each, which end where no colour goes on into the next line."""
    first = open_tags = 0
    for number, line in enumerate(lines[:-1], start=1):
        open_tags += line.count("<") - 2 * line.count("</") - line.count("<wbr>")
        if number - first >= _STRETCH and not open_tags:
            yield "".join(("<span>", *(f"{line}\n" for line in lines[first:number]), "</span>"))
            first = number
    yield "\n".join(lines[first:])


_PIECE = 1000
_PIECES = re.compile(rf"(?:<[^>]*>|&\w+;|[^<&]){{{_PIECE}}}")


def _in_pieces(line: str) -> str:
    return _PIECES.sub(r"\g<0><wbr>", line)


@lru_cache(256)
def _tags(style: frozenset[int]) -> tuple[str, str]:
    if not style or style in _BARE:
        tag = _BARE.get(style)
        return (f"<{tag}>", f"</{tag}>") if tag else ("", "")
    names = " ".join(f"a{code}" for code in sorted(style))
    return (f'<i class="{names}">' if len(style) > 1 else f"<i class={names}>"), "</i>"


def _restyled(style: frozenset[int], codes: str) -> frozenset[int]:
    held = set(style)
    _restyle(held, codes)
    return frozenset(held)


_LONG = 20
"""Characters of a sequence from which on it is some hostile one, and not remembered."""

_known = lru_cache(1024)(_restyled)
"""The same, remembered: programs write the same few sequences over and over."""


def _restyle(style: set[int], codes: str) -> None:
    numbers = iter([int(code.lstrip("0")[:4] or 0) for code in codes.split(";")])
    for number in numbers:
        if number == 0:
            style.clear()
        elif number in _STYLES:
            style.add(number)
        elif number == 22:
            style.difference_update({_BOLD, _FAINT})
        elif number - 20 in _STYLES:
            style.discard(number - 20)
        elif number in (38, 48):
            _indexed(style, number, numbers)
        elif 30 <= number <= 49 or 90 <= number <= 97 or 100 <= number <= 107:
            _colour(style, number)


def _indexed(style: set[int], number: int, numbers: Iterator[int]) -> None:
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


def _colour(style: set[int], number: int) -> None:
    first = _GROUNDS if 40 <= number <= 49 or number >= 100 else _LETTERS
    style.difference_update(range(first, first + 8))
    if number not in (39, 49):
        style.add(first + number % 10)
