"""How far before its end a match of a gate may begin, told by how the gate is written.

The only module that asks how `re` parses a pattern; whoever asks finds another way where it cannot.
"""

from __future__ import annotations

import re
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from msgspec import Struct

_WIDEST: Final = 600
"""Bytes that a match can be long at most; those of other patterns are as long as their bytes go."""

_FIRST: Final = re.compile(rb"\[(?:[^\]\\]|\\.)+\]")
_SPACE: Final = b" \t\n\r\f\v"


class Reach(Struct, frozen=True, array_like=True):
    """How far before its end a match of a pattern may begin."""

    width: int
    """Bytes; 0 where there is no limit."""
    of: bytes
    """The bytes that such a match is made of; empty where there is a limit."""


def ending(pattern: bytes) -> bytes:
    """A pattern whose matches end where those of another do, without the letter that begins them.

    Hyperscan looks for what is rare in a match, which a beginning like `[0-9]` is not.
    """
    first = _FIRST.match(pattern)
    if not first:
        return pattern
    rest = pattern[first.end() :]
    try:
        is_alone = str(parser.parse(pattern).data[1:]) == str(parser.parse(rest).data)
    except re.error:
        return pattern  # as `+c` is no pattern, of `[ab]+c`
    return rest if rest and is_alone else pattern


def reach(pattern: bytes) -> Reach:
    """How far before its end a match may begin; ValueError of what no gate has had yet."""
    parsed = parser.parse(pattern)
    widest = parsed.getwidth()[1]
    if widest <= _WIDEST:
        return Reach(int(widest), b"")
    return Reach(0, bytes(sorted(_bytes_of(parsed, is_caseless=False))))


def _bytes_of(parsed: Any, *, is_caseless: bool) -> set[int]:
    """All bytes that matches of a pattern, as `re` parses it, are made of."""
    found: set[int] = set()
    for kind, held in parsed:
        if str(kind) in ("LITERAL", "NOT_LITERAL", "IN"):
            found |= _class(held if str(kind) == "IN" else [(kind, held)], is_caseless=is_caseless)
            continue
        is_inner_caseless = is_caseless
        match str(kind):
            case "MAX_REPEAT":
                inner = [held[2]]
            case "SUBPATTERN":
                inner, (_, on, off, _) = [held[3]], held
                caseless = bool(on & re.IGNORECASE) or is_caseless
                is_inner_caseless = caseless and not off & re.IGNORECASE
            case "BRANCH":
                inner = held[1]
            case "AT":
                inner = []
            case _:
                raise ValueError(f"{kind} in a gate; expected one of those above")
        found.update(*(_bytes_of(one, is_caseless=is_inner_caseless) for one in inner))
    return found


def _class(held: Any, *, is_caseless: bool) -> set[int]:
    """The bytes of a class such as `[^a-z]`, or of one letter."""
    found: set[int] = set()
    for kind, one in held:
        match str(kind):
            case "NEGATE":
                pass
            case "LITERAL" | "NOT_LITERAL":
                found.add(one)
            case "RANGE":
                found |= set(range(one[0], one[1] + 1))
            case "CATEGORY" if str(one) == "CATEGORY_SPACE":
                found |= set(_SPACE)
            case _:
                raise ValueError(f"{kind} in a class of a gate; expected one of those above")
    if is_caseless:
        found |= set(bytes(found).swapcase())
    is_negated = str(held[0][0]) in ("NEGATE", "NOT_LITERAL")
    return set(range(256)) - found if is_negated else found
