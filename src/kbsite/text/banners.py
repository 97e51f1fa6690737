"""Titles in big letters."""

from __future__ import annotations

from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from msgspec import Struct

from kbsite.text.safe import visible

if TYPE_CHECKING:
    from pyfiglet import Figlet


class Banner(Struct, frozen=True):
    """A title in big letters made of characters."""

    title: str
    lines: tuple[str, ...]

    @property
    def width(self) -> int:
        """Columns that it takes, rounded up to ten: the theme has a size of letters for each."""
        widest = max(map(columns, self.lines), default=0)
        return max(10, -(-widest // 10) * 10)


_WIDEST = 200
"""Columns of the widest banner that the theme has a size for."""

_LONGEST = 100
"""Letters of the longest title that is drawn: three lines of big letters."""


def columns(line: str) -> int:
    """Columns that a line takes: the letters of East Asia and emoji take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)


@cache
def _figlet() -> Figlet:
    from pyfiglet import Figlet

    return Figlet(font="standard", width=_WIDEST)


def load() -> None:
    """Load what draws, else loaded where there is a title."""
    _figlet()


@cache
def banner(title: str) -> Banner:
    """`title` as pyfiglet draws it; as it is where it is long or the font lacks a letter of it."""
    words, figlet = " ".join(visible(title).split()), _figlet()
    if len(words) > _LONGEST or not all(ord(letter) in figlet.Font.chars for letter in words):
        # Half of the width: a letter may be two columns wide.
        return Banner(title, tuple(wrap(words, _WIDEST // 2)))
    lines = [line.rstrip() for line in figlet.renderText(words).split("\n") if line.strip()]
    left = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return Banner(title, tuple(line[left:] for line in lines) or (words,))
