"""The addresses that a style sheet loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_ADDRESS = re.compile(
    r"""(?P<sheet>@import\s*)?(?:(?:url|src)\(\s*(?P<bare>[^"'()\s][^()]*?)?\s*"""
    r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)')?\s*\))"""
    r"""|@import\s*(?:"(?P<one>[^"\n]*)"|'(?P<two>[^'\n]*)')""",
    re.IGNORECASE,
)
_SETS = re.compile(r"""image-set\(([^;{}]*)\)""", re.IGNORECASE)
_TEXTS = re.compile(r""""([^"\n]*)"|'([^'\n]*)'""")


@dataclass(frozen=True, slots=True)
class Named:
    """An address in a style sheet."""

    raw: str
    sheet: bool
    """Whether it is another style sheet."""


def addresses(text: str) -> Iterator[Named]:
    """Everything that a style sheet loads, in order, each once."""
    seen: set[Named] = set()
    plain = _ESCAPE.sub(_character, _COMMENT.sub(" ", text))
    for one in _all(plain):
        if one not in seen:
            seen.add(one)
            yield one


def _all(text: str) -> Iterator[Named]:
    for found in _ADDRESS.finditer(text):
        held = (found[name] for name in ("bare", "double", "single", "one", "two"))
        raw = next((one for one in held if one is not None), "")
        sheet = bool(found["sheet"]) or found["one"] is not None or found["two"] is not None
        yield Named(raw.strip(), sheet)
    for found in _SETS.finditer(text):
        for quoted in _TEXTS.finditer(found[1]):
            yield Named(quoted[1] or quoted[2] or "", sheet=False)


def _character(found: re.Match[str]) -> str:
    if found[2] is not None:
        return found[2]
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
