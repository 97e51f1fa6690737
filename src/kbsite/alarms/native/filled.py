"""Texts with places that are filled in, as Python's formatting and templates do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

_FORMAT: Final = re.compile(r"(\{\{|\}\})|\{(\w*)(?:![rsa])?(?::[^{}\n]{0,40})?\}")
_PERCENT: Final = re.compile(r"(%%)|%(?:\((\w+)\))?[-#+ 0-9.]{0,10}[sdiuxXrafgeEc]")
_DOLLAR: Final = re.compile(r"(\$\$)|\$(\w+)|\$\{(\w+)\}")


class Given(Struct, frozen=True):
    """What is filled in."""

    placed: Sequence[str] = ()
    named: Mapping[str, str] | None = None


def formatted(text: str, given: Given, longest: int) -> str:
    """A text as `str.format` fills it in; a place that nothing is given for stays as it is."""
    return _filled(_FORMAT, text, given, longest)


def percented(text: str, given: Given, longest: int) -> str:
    """A text as `%` fills it in; a place that nothing is given for stays as it is."""
    return _filled(_PERCENT, text, given, longest)


def templated(text: str, given: Given, longest: int) -> str:
    """A text as `string.Template` fills it in; a name that nothing is given for stays."""
    return _filled(_DOLLAR, text, given, longest)


def _filled(pattern: re.Pattern[str], text: str, given: Given, longest: int) -> str:
    """A text with its places filled in, and cut where it grows too long."""
    put = _putter(given)
    out: list[str] = []
    at = size = 0
    for found in pattern.finditer(text):
        piece = found[1][0] if found[1] else put(found.group(found.lastindex or 0), found[0])
        out += (text[at : found.start()], piece)
        size += found.start() - at + len(piece)
        at = found.end()
        if size > longest:
            break
    return "".join((*out, text[at:]))[:longest]


def _putter(given: Given) -> Callable[[str, str], str]:
    """What gives the text for a place, by its name or number, or what stands there."""
    named, rest = given.named or {}, iter(given.placed)

    def put(name: str, written: str) -> str:
        if name in named:
            return named[name]
        if name.isdecimal() and len(name) < 4:
            return dict(enumerate(given.placed)).get(int(name), written)
        is_next = not name or name == written
        return next(rest, written) if is_next else written

    return put
