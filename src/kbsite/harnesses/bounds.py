"""How much JSON is read at once: what is read takes many times the memory of its text.

Anybody can write it, and packed it is smaller still: lists without items take three bytes each of a
text, and fifty times as many when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice

DEEPEST = 300
"""Lists and objects within each other that are read. Whether deeper ones can be, and be written,
hangs on how much of the stack a program has taken by then: a build and who verifies it differ."""
MOST = 5_000_000
"""Values of a JSON text that are read: they take less than a gigabyte. No row has as many.
Lists and objects count twice, as they take twice the room."""

_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
_TOKENS_OF_BYTES = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


def refuse(value: object, told: str) -> None:
    """Raise RecursionError where what a JSON text told is deeper than is read."""
    if is_deep(value, told):
        raise RecursionError(f"more than {DEEPEST} lists and objects within each other")


def is_deep(value: object, told: str | bytes) -> bool:
    """Whether more than DEEPEST lists and objects stand within each other in what was told."""
    if not _opens_more(told):
        return False  # which is so of most rows, and costs them little
    inside = [value]
    for _ in range(DEEPEST):
        inside = [one for held in inside for one in _held(held) if isinstance(one, dict | list)]
        if not inside:
            return False
    return True


def _opens_more(told: str | bytes) -> bool:
    """Whether so many lists and objects may begin in it; signs within its texts count, too.

    To look for each takes a third of the time of counting all: there are a few in most rows.
    """
    if len(told) <= 2 * DEEPEST:
        return False  # each ends, too
    left = DEEPEST
    for sign in "{[":
        # A type that two types share tells mypy nothing of what it is looked for in.
        find: Callable[..., int] = told.find
        one = sign if isinstance(told, str) else sign.encode()
        at = find(one)
        while at >= 0:
            left -= 1
            if left < 0:
                return True
            at = find(one, at + 1)
    return False


def is_crowded(told: str | bytes) -> bool:
    """Whether a JSON text holds more values than are read."""
    # Signs within its texts count for values at first: to tell them apart takes a while.
    return len(told) > MOST and most_values(told) > MOST and _values(told) > MOST


def most_values(told: str | bytes) -> int:
    """How many values a JSON text may hold: so many, or fewer where its texts hold signs of it."""
    return _signs(told, "{[,") + 1


def _values(told: str | bytes) -> int:
    """How many values a JSON text holds; of more than MOST, one more than that."""
    if isinstance(told, str):
        signs: Iterable[bool] = (match[0][0] != '"' for match in _TOKENS.finditer(told))
    else:
        signs = (match[0][:1] != b'"' for match in _TOKENS_OF_BYTES.finditer(told))
    return sum(islice(filter(None, signs), MOST)) + 1


def _signs(told: str | bytes, signs: str) -> int:
    if isinstance(told, str):
        return sum(told.count(sign) for sign in signs)
    return sum(told.count(sign.encode()) for sign in signs)


def _held(value: object) -> Iterable[object]:
    """What a list or an object has in it."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
