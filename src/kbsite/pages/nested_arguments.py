"""Arguments within arguments of a call, as HTML: lists of names and values, a list for each level.

As JSON, a question with the answers that a model offers to it is braces and escapes, on a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kbsite import text as texts
from kbsite.pages import pieces

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

MOST_LEVELS, MOST_VALUES, MOST_CHARACTERS = 6, 100, 10_000
"""Levels of lists, values and characters of names and values; what has more is shown as JSON."""
OPEN_VALUES = 30
"""Values that are shown unfolded, where they are short."""

_NO_WORDS = re.compile(r"(?:true|false|null|-?\d[\d.eE+-]*)?")
"""Texts that nothing but their quotes tells from numbers and the like."""


def nested(
    held: Mapping[str, object], anchor: str, reading: Reading, *, unfolded: bool = False
) -> str:
    """Arguments as lists, folded where they are many or nobody asked for them `unfolded`.

    Empty where none of them holds others, or where they are too many, too long or too deep for it.
    """
    if not any(_is_level(value) for value in held.values()):
        return ""
    values, characters = _size(held, MOST_LEVELS)
    if values > MOST_VALUES or characters > MOST_CHARACTERS:
        return ""
    told = _level(held, anchor, reading)
    if unfolded and values <= OPEN_VALUES and characters <= pieces.OPEN_CHARACTERS:
        return f"{told}\n"
    return f"<details><summary>arguments</summary>{told}</details>"


def _is_level(value: object) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _size(value: object, levels: int) -> tuple[int, int]:
    """How many values there are, and how many characters of them and their names."""
    if not _is_level(value):
        return 1, len(value) if isinstance(value, str) else 1
    if not levels:
        return MOST_VALUES + 1, 0
    names = sum(map(len, value)) if isinstance(value, Mapping) else 0
    sizes = [_size(one, levels - 1) for _, one in _entries(value)]
    return sum(values for values, _ in sizes), names + sum(length for _, length in sizes)


def _entries(value: object) -> Iterable[tuple[str, object]]:
    """What a level holds, with its names; those of a list have none."""
    if isinstance(value, Mapping):
        return value.items()
    assert isinstance(value, list)
    return (("", one) for one in value)


def _level(value: object, anchor: str, reading: Reading) -> str:
    tag = "ul" if isinstance(value, Mapping) else "ol"
    told = [
        f"<li>{f'<b>{texts.inner(name)}</b>: ' if tag == 'ul' else ''}{_one(held, anchor, reading)}"
        for name, held in _entries(value)
    ]
    return f"<{tag}>{''.join(told)}</{tag}>"


def _one(value: object, anchor: str, reading: Reading) -> str:
    if _is_level(value):
        return _level(value, anchor, reading)
    if not isinstance(value, str) or _NO_WORDS.fullmatch(value):
        return texts.inner(texts.json(value))
    if " ".join(value.split()) != value:
        # An entry of a list keeps no line ends, and no blanks beside blanks.
        return pieces.long(value, anchor, reading)
    return texts.inner(value)
