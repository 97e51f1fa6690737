"""Keys that a terminal broke: its width or a colour stands within them, read as if none did.

A pane of tmux, say, goes on in the next line where one is as wide as the pane, and `grep` colours
what it found in the midst of a key. What goes on is looked for only behind what begins like one.
"""

from __future__ import annotations

from typing import Final

from kbsite.late import late
from kbsite.redaction.encoded import COLOUR
from kbsite.redaction.pieces import Pieces
from kbsite.redaction.values import is_varied, is_word
from kbsite.redaction.wrapped import BREAK

_LEAST: Final = 60
"""Columns of a terminal, at least."""

_WIDEST: Final = 400
_MOST: Final = 8
"""Pieces that a key is broken into, at most."""

_SHORT: Final = 12
"""Letters and digits of an end that is too short to be varied, at most."""

_COLOURS: Final = rb"(?:" + COLOUR + rb"[0-9;?]{0,16}[mKGHJ]){1,6}"
_FRAME: Final = rb"(?:[ ]?(?:\xe2\x94[\x82\x83]|\xe2\x95\x91|\\{1,4}u250[23]|\\{1,4}u2551|\|)[ ]?)?"
"""What stands at the sides of a box."""
_BREAK: Final = _FRAME + BREAK + _FRAME
_ALONG: Final = late(rb"[A-Za-z0-9_+/.~-]{0,400}(?=[\r\n\x1b\\| \xe2])")
"""The rest of a key, up to where it may be broken."""
_GOES_ON: Final = late(
    rb"(?:(?P<colours>" + _COLOURS + rb")|" + _BREAK
    + rb")(?P<more>[A-Za-z0-9_-]{1,400}(?:\.[A-Za-z0-9_-]{1,400}){0,2})(?![A-Za-z0-9_=:(/-])"
)  # fmt: skip
"""What breaks a key, and what goes on behind it; no name of a variable, and no path."""


def joined(data: bytes, first: int, end: int) -> Pieces | None:
    """What a match of the automaton, which ends at a place, begins; None where nothing breaks it.

    What stands before it is read from `first` on.
    """
    along = _ALONG.match(data, end)
    parts = _parts(data, along.end()) if along else []
    if not (along and parts and _is_drawn(b"".join(data[begin:close] for begin, close in parts))):
        return None
    spans = [(first, along.end()), *parts]
    held = [data[begin:close] for begin, close in spans]
    before = [sum(map(len, held[:number])) for number in range(len(held))]
    last = spans[-1][1]
    starts = tuple(begin for begin, _ in spans)
    return Pieces(b"".join(held), starts, tuple(before), first, last, last - first)


def _is_drawn(more: bytes) -> bool:
    """Whether what goes on is no word: a key may be whole where its line ends."""
    short = len(more) < _SHORT and more.isalnum() and not is_word(more)
    return short or is_varied(more)


def _parts(data: bytes, at: int) -> list[tuple[int, int]]:
    """Where what goes on begins and ends, from the end of a key's first piece on."""
    parts: list[tuple[int, int]] = []
    width = 0
    while len(parts) < _MOST and (one := _GOES_ON.match(data, at)):
        if one["colours"] is None:
            # Each line but the last is as wide as the first.
            wide = _columns(data, at)
            if wide < max(width, _LEAST) or len(one["more"]) > wide:
                break
            width = wide
        parts.append(one.span("more"))
        at = one.end()
    return parts


def _columns(data: bytes, at: int) -> int:
    """How wide the line is that ends at a place."""
    least = max(0, at - _WIDEST)
    found = [(data.rfind(end, least, at), len(end)) for end in (b"\n", b"\\n")]
    return at - max((least, *(place + size for place, size in found if place >= 0)))
