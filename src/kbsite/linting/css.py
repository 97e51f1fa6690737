"""The addresses that a style sheet loads, told from its texts and comments as a browser does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|\n|(.))", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<void>\s+|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<quoted>"(?P<double>(?:[^"\\\n]|\\.)*)(?:"|\Z|(?=\n))"""
    r"""|'(?P<single>(?:[^'\\\n]|\\.)*)(?:'|\Z|(?=\n)))"""
    r"""|(?P<name>@?(?:[-\w\x80-\U0010ffff]|\\[^\n])+)(?P<call>\()?|(?P<sign>.)""",
    re.DOTALL,
)
_BARE = re.compile(r"""\s*(?!["'\s])((?:[^\\)]|\\.)*)(?:\)|\Z)""", re.DOTALL)
"""An address without quotes, and the end of what it stands in."""
_LOADING = frozenset({"url", "src", "image", "image-set", "-webkit-image-set", "cross-fade"})
"""Functions whose texts are addresses."""


@dataclass(frozen=True, slots=True)
class Named:
    """An address in a style sheet."""

    raw: str
    sheet: bool
    """Whether it is another style sheet."""


def addresses(text: str) -> Iterator[Named]:
    """Everything that a style sheet loads, in order, each once."""
    # As nearly all values of attributes are.
    if "(" in text or "@" in text:
        yield from dict.fromkeys(_all(text))


def _all(text: str) -> Iterator[Named]:
    at, within, sheet = 0, [""], False
    while found := _TOKEN.match(text, at):
        at = found.end()
        if found["void"]:
            continue
        name = _plain(found["name"] or "").lower()
        bare = _BARE.match(text, at) if found["call"] and name == "url" else None
        if bare:
            at = bare.end()
            yield Named(_plain(bare[1]).strip(), sheet)
        elif found["quoted"]:
            if sheet or within[-1] in _LOADING:
                yield Named(_plain(_within(found)), sheet)
        elif _goes_in(found, within, name) and name in _LOADING:
            # Of an import, the text within is its address.
            continue
        sheet = name == "@import"


def _within(found: re.Match[str]) -> str:
    """What stands between quotes."""
    return found["double"] or found["single"] or ""


def _goes_in(found: re.Match[str], within: list[str], name: str) -> bool:
    """Whether a token opens something; `within` is what is open, the innermost last."""
    opens = bool(found["call"]) or found["sign"] == "("
    if opens:
        within.append(name)
    elif found["sign"] == ")" and len(within) > 1:
        within.pop()
    return opens


def _plain(text: str) -> str:
    """A text of a style sheet without its escapes."""
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2] or ""
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
