"""Cards that a site shows where somebody links to it: a picture of computed figures, as SVG.

With the extra `cards` there is a PNG of each beside it, which is what most readers of Open Graph
want; its letters are those of the machine that draws it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from textwrap import wrap

from msgspec import Struct

EXTRA = "kbsite[cards]"
WIDTH, HEIGHT = 1200, 630
"""What Open Graph asks for, pixels."""

_EDGE = 60
_LETTER = 0.602
"""Width of a letter of a monospaced font, in parts of its size."""
_FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_MOST_LINES = 6


class Card(Struct, frozen=True):
    """What a card says."""

    title: str
    """Drawn as a banner where it is short."""
    lines: Sequence[str]
    """At most six, the most important first."""
    foot: str


def available() -> bool:
    """Whether what draws the PNG is installed."""
    return find_spec("resvg_py") is not None


def svg(card: Card) -> str:
    """The card as an SVG that loads nothing."""
    drawn, below = _banner(card.title)
    rows = [_line(line, below + 62 * (n + 1), 40, n == 0) for n, line in enumerate(_few(card))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
            f' viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{_FONTS}">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#0a0d0a"/>',
            f'<rect x="20" y="20" width="{WIDTH - 40}" height="{HEIGHT - 40}" fill="none"'
            ' stroke="#14532d" stroke-width="2"/>',
            *drawn,
            *rows,
            _text(f"$ {card.foot}", HEIGHT - 50, _LEAST, "#fbbf24"),
            "</svg>\n",
        ]
    )


def png(drawn: str) -> bytes:
    """An SVG of ours as PNG; ImportError where the extra is not installed."""
    from resvg_py import svg_to_bytes

    # To look through all fonts of a machine takes ten times as long as to draw.
    font = _font()
    files = [font] if font else None
    alone = font != "" and _HELD.fullmatch(drawn) is not None
    return bytes(svg_to_bytes(svg_string=drawn, skip_system_fonts=alone, font_files=files))


_HELD = re.compile(
    "[\n -~\u00a0-\u017f\u0391-\u03c9\u0410-\u044f\u2010-\u2027\u2190-\u21ff\u2500-\u27bf]*"
)
"""Letters that the font has; those of others, such as those of East Asia, it shows as boxes."""


@cache
def _font() -> str:
    """The file of the first of the fonts that cards ask for; empty where it is not found."""
    places = (folder.rglob(_FILE) for folder in map(Path, _FOLDERS) if folder.is_dir())
    return next((str(path) for found in places for path in found), "")


_FILE = "DejaVuSansMono.ttf"
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts")


def _few(card: Card) -> Sequence[str]:
    return card.lines[:_MOST_LINES]


def _banner(title: str) -> tuple[list[str], int]:
    """The lines of a banner, or of a title that cannot be drawn as one, and how far they reach."""
    # A build that has nothing to do waits for nothing.
    from kbsite.text import banner, columns, visible

    lines, words = banner(title).lines, visible(title)
    size = min(34, _room(1) // max(1, *map(columns, lines)))
    written = "".join(lines).replace(" ", "") == "".join(words.split())
    if written or len(lines) > _BIG or size < _SMALL:
        size = _TITLE
        most = _room(size) // (1 if columns(words) == len(words) else 2)
        lines = tuple(wrap(words, most, max_lines=3, placeholder=" …"))
    high = round(size * 1.15)
    drawn = [_text(row, 90 + high * n, size, "#86efac") for n, row in enumerate(lines)]
    return drawn, 90 + high * max(0, len(lines) - 1)


_TITLE = 44
"""Size of a title that is no banner."""
_BIG = 8
"""Lines of a banner that leave room for what stands below it."""
_SMALL = 14
"""Size of the letters that a banner is drawn of below which it cannot be read where it is shown."""


def _room(size: int) -> int:
    """Letters of this size that fit into a line."""
    return int((WIDTH - 2 * _EDGE) / (size * _LETTER))


_LEAST = 28
"""The size of letters that can still be read where a card is shown."""


def _line(text: str, y: int, size: int, first: bool) -> str:  # noqa: FBT001
    return _text(text, y, size, "#86efac" if first else "#4ade80")


def _text(text: str, y: int, size: int, colour: str) -> str:
    from html import escape

    from kbsite.text import columns, visible

    shown = visible(text)
    # What is too long is written smaller before it is cut.
    size = max(min(size, _LEAST), min(size, _room(1) // max(1, columns(shown))))
    if columns(shown) > _room(size):
        ends = accumulate(map(columns, shown))
        shown = f"{shown[: sum(end < _room(size) for end in ends)]}…"
    return (
        f'<text x="{_EDGE}" y="{y}" font-size="{size}" fill="{colour}" xml:space="preserve">'
        f"{escape(shown, quote=False)}</text>"
    )
