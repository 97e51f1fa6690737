"""C, C++, CUDA, HIP and PTX as tokens: what a compiler sees, with the place where it was written.

A tokenizer, no parser: sources are hostile, and often no whole programs. It needs time in
proportion to the text, whatever is in it, and never fails: what is not closed ends with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import IntEnum
from typing import Final

from msgspec import Struct

# Possessive quantifiers throughout: nothing is ever tried a second time. |(?!) is of no meaning to
# a Python without a bug: CONTRIBUTING.md, patterns.
_COMMENT = r"//[^\n]*+|/\*(?:[^*]++|\*(?!/)|(?!))*+(?:\*/|\Z)"
_GAP = rf"(?:\s++|{_COMMENT}|(?!))*+"
_NAME = r"[^\W\d]\w*+"
_RAW = r'(?:u8|[uUL])?R"([^()\\\s"]{0,16})\((?s:.*?)(?:\)\4"|\Z)'
_TEXT = r'(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*+"?'
_CHARACTER = r"(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*+'?"
_NUMBER = r"\.?\d(?:[eEpP][+-]|'?[\w.]|(?!))*+"
_DIRECTIVE = r"#(?!#)(?:[^\n/]++|/\*(?:[^*]++|\*(?!/)|(?!))*+(?:\*/|\Z)|/(?![/*])|(?!))*+"
_SIGN = r"<<<|##|->|::|\.\.\.|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--|<<|[^\w\s]"


class Kind(IntEnum):
    """What a token is."""

    NAME = 1
    """An identifier or a keyword; with its namespaces, as in `at::native::add`."""
    SIGN = 2
    STRING = 3
    CHARACTER = 4
    NUMBER = 5
    COMMENT = 6
    DIRECTIVE = 7
    """A line of the preprocessor."""


Token = tuple[int, str, int]
"""A token: one of Kind as its number, its text, and the offset at which it begins in a text with
its line splices taken out. No class: there are tens of thousands of them."""


def _scanner(name: str, directive: str) -> re.Pattern[str]:
    """What finds the next token; its groups are those of _KINDS."""
    return re.compile(
        rf"\s*+(?:({name}(?![\"\']))|(?=[^\"\'\w/#.<])({_SIGN})|({_RAW}|{_TEXT})|({_CHARACTER})"
        rf"|({_NUMBER})|({_COMMENT})|({directive})|({name}|{_SIGN})|\Z)"
    )


_ALONE = (
    r"(?:return|else|case|throw|new|delete|const|constexpr|static|inline|extern|typename|volatile"
    r"|public|private|protected|goto|co_return|sizeof|not|and|or|do|auto|virtual|friend)\b"
)  # keywords: the :: behind one begins a name of its own
_WHOLE: Final = _scanner(
    rf"(?:{_ALONE}|(?:::{_GAP})?{_NAME}(?:{_GAP}::{_GAP}{_NAME}|(?!))*+)", _DIRECTIVE
)
_PARTS: Final = _scanner(_NAME, r"(?!)")
_NONE: Final = 0
_KINDS: Final = (  # the fourth is the mark of a raw string
    _NONE, Kind.NAME, Kind.SIGN, Kind.STRING, _NONE, Kind.CHARACTER, Kind.NUMBER, Kind.COMMENT,
    Kind.DIRECTIVE, Kind.SIGN,
)  # fmt: skip
_GAPS: Final = re.compile(_GAP)


class Text(Struct, frozen=True):
    """A source with its line splices taken out, as the language reads it."""

    joined: str
    starts: tuple[int, ...]
    """Where each line as written begins in `joined`."""

    def line(self, offset: int) -> int:
        """The line, from 1, as written, of an offset into `joined`."""
        return max(1, bisect_right(self.starts, offset))


def spliced(text: str) -> Text:
    """A source as the language reads it: lines that end in a backslash go on in the next."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    starts, at = [], 0
    for line in text.split("\n"):
        starts.append(at)
        at += len(line) - 1 if line.endswith("\\") else len(line) + 1
    return Text(text.replace("\\\n", ""), tuple(starts))


def tokens(text: str) -> list[Token]:
    """The tokens of a text without splices; names come with their namespaces, as written."""
    kinds = _KINDS
    return [
        (kinds[group], word := found[group], found.end() - len(word))
        for found in _WHOLE.finditer(text)
        if (group := found.lastindex)
    ]


def parts(text: str) -> list[tuple[int, str]]:
    """Kinds and texts of a macro's body: names without their namespaces, no comments."""
    found = ((_KINDS[group], m[group]) for m in _PARTS.finditer(text) if (group := m.lastindex))
    return [(kind, word) for kind, word in found if kind != Kind.COMMENT]


def qualified(name: str) -> str:
    """A name with namespaces as it would be written plainly, from the outermost one."""
    return _GAPS.sub("", name).removeprefix("::")


_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,8})|([0-7]{1,3})|u([0-9a-fA-F]{4})|(.))", re.S)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def value(literal: str) -> str:
    """What a literal of text or of a character stands for, without quotes and prefix."""
    opening = literal.find('"') if '"' in literal[:4] else literal.find("'")
    if "R" in literal[:opening]:
        begin = literal.find("(") + 1
        mark = literal[opening + 1 : begin - 1]
        return literal[begin:].removesuffix(f'){mark}"')
    quote = literal[opening]
    inner = literal[opening + 1 :]
    if inner.endswith(quote):
        inner = inner[:-1]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def hidden(literal: str) -> int:
    """How many letters, digits and signs a literal writes as numbers."""
    if "\\" not in literal:
        return 0
    return sum(
        not found[4] and _unescaped(found).isascii() and _unescaped(found).isprintable()
        for found in _ESCAPE.finditer(literal)
    )


def _unescaped(found: re.Match[str]) -> str:
    hexadecimal, octal, code, plain = found.groups()
    if plain:
        return _SIMPLE.get(plain, plain)
    number = int(octal, 8) if octal else int(hexadecimal or code, 16)
    return chr(number) if number < 0x110000 else "\ufffd"
