"""Terminal output as HTML: its colours and weights, all else as the text that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from markupsafe import Markup

from kbsite.text.safe import escaped, inner, visible

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
    """Terminal output as a page of its own shows it, in pieces that a browser lays out one by one.

    A browser lays out a line of signs that its font lacks, as those of a progress bar's carriage
    returns, in the square of its length: a megabyte of them showed nothing for minutes. It lays out
    what stands between two places where such a line may break by itself. A large text stands in
    stretches, of which those that are out of sight are not laid out. No character is added, and
    none is moved.
    """
    html = inner_terminal(text, _ALONE)
    lines = html.split("\n")
    if len(lines) <= _MANY and len(html) <= _LARGE:
        return Markup("\n".join(map(_in_pieces, lines)))  # noqa: S704 - it is escaped there
    return Markup("".join(_Stretches(len(lines)).of(lines)))  # noqa: S704 - it is escaped there


_MANY, _LARGE = 2000, 200_000
"""Lines and characters from which on a text is laid out in stretches, as they come into sight."""
_VERY_MANY = 50_000
"""Lines from which on these are ten times as long: a browser watches each of them."""
_STRETCH = 25
"""Lines of such a stretch: the style of pages takes it to be so long while it is out of sight.

A window is about as long: where lines take more room than that, little above it moves.
"""
_WIDE = 10_000
"""Characters of a stretch, of which a longer line has several."""
_NEAR = 1000
"""Characters before the end of such a stretch where it is looked for a better one."""
_BETTER = (" \t␍", ",;")
"""After which it is better to end, the best first: a browser finds nothing that goes on beyond."""


class _Stretches:
    """Makes stretches of the lines of a text; a colour that goes on in the next starts anew."""

    def __init__(self, lines: int) -> None:
        self._times, self._tag = (10, "<span class=many>") if lines > _VERY_MANY else (1, "<span>")
        self._held: list[str] = []
        self._size = 0
        self._begun = ""
        """The tag of the colour in which the next stretch begins."""
        self._open = ""
        """The one in which it ends so far."""

    def of(self, lines: Sequence[str]) -> Iterator[str]:
        """The lines in spans, but for the last few."""
        for line in lines[:-1]:
            if len(line) > _WIDE:
                yield from self._end()
                yield from self._wide(line, "\n")
                continue
            self._put(line, "\n")
            # The colour of most ends soon.
            if self._has(1) and (not self._open or self._has(2)):
                yield from self._end()
        if len(lines[-1]) > _WIDE:
            yield from self._end()
            yield from self._wide(lines[-1], "")
        else:
            self._put(lines[-1], "")
            yield self._taken()

    def _put(self, line: str, end: str) -> None:
        self._held.append(f"{_in_pieces(line)}{end}")
        self._size += len(line)
        last = line.rfind("<")
        if last >= 0:
            self._open = "" if line[last + 1] == "/" else line[last : line.index(">", last) + 1]

    def _has(self, times: int) -> bool:
        """Whether so many stretches could be made of what is held."""
        times *= self._times
        return len(self._held) >= times * _STRETCH or self._size >= times * _WIDE

    def _end(self) -> Iterator[str]:
        if self._held:
            yield f"{self._tag}{self._taken()}</span>"

    def _taken(self) -> str:
        """What is held, with the colours in which it begins and ends."""
        told = "".join((self._begun, *self._held, _closing(self._open)))
        self._held, self._size, self._begun = [], 0, self._open
        return told

    def _wide(self, line: str, end: str) -> Iterator[str]:
        start = 0
        while start < len(line):
            stop = _stop(line, start)
            self._put(line[start:stop], end if stop == len(line) else "")
            yield f"<span class=wide>{self._taken()}</span>"
            start = stop


def _closing(tag: str) -> str:
    return f"</{tag[1]}>" if tag else ""


def _stop(line: str, start: int) -> int:
    """Where a stretch of a long line ends that starts there: never within a tag or an entity."""
    stop = start + _WIDE
    if stop >= len(line):
        return len(line)
    for signs in _BETTER:
        better = max(line.rfind(sign, stop - _NEAR, stop) for sign in signs) + 1
        if better:
            stop = better
            break
    tag = line.rfind("<", start, stop)
    if tag > line.rfind(">", start, stop):
        return tag
    entity = line.rfind("&", start, stop)
    if entity > line.rfind(";", start, stop):
        return entity
    # A colour that ends here has no need to start anew.
    closing = _CLOSING.match(line, stop)
    return closing.end() if closing else stop


_CLOSING = re.compile(r"</\w+>")
_PIECE = 1000
_PIECES = re.compile(rf"(?:<[^>]*>|&\w+;|[^<&]){{{_PIECE}}}")


def _in_pieces(line: str) -> str:
    if len(line) <= _PIECE or line.isascii():
        return line
    pieces, at = [], 0
    while len(piece := line[at : at + _PIECE]) == _PIECE:
        if "<" in piece or "&" in piece:
            found = _PIECES.match(line, at)
            if found is None:
                break
            piece = found[0]
        pieces.append(piece)
        at += len(piece)
    return "<wbr>".join([*pieces, line[at:]])


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
