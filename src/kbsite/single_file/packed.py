"""Pages packed into a few blocks of text that a file can hold and its script can unpack.

Deflate looks back 32 kB only, and the words of a transcript come back again and again over
megabytes: so the most frequent words are first replaced by codes of two characters. Characters that
codes are made of are words themselves where a page holds them, so nothing is lost.
"""

from __future__ import annotations

import re
import zlib
from base64 import b85encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

SEPARATOR = "\x08"
"""Stands between the pages of a block, and in no coded page."""

BLOCK = 400_000
"""Characters of pages from which on a block is closed: what is unpacked at a time."""

OPENS = b"."
"""What stands for the one digit of base 85 that could end a block within HTML."""

_FIRST = "".join(map(chr, [*range(0x01, 0x08), *range(0x0E, 0x20)]))
_SECOND = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_CODES = [first + second for first in _FIRST for second in _SECOND]
_RESERVED = (*_FIRST, SEPARATOR)
_WORD = re.compile(r"[\x01-\x08\x0e-\x1f]|<[^<>\x01-\x1f]{1,40}>\n?| ?[A-Za-z_][A-Za-z_0-9]{2,40}")
"""What can be replaced: a reserved character, a tag, a name or word of three letters and more."""


class Block(Struct, frozen=True):
    """Some pages, packed together."""

    names: tuple[str, ...]
    data: str
    """Base 85 of raw deflate of UTF-8 of the coded pages, with the separator between them."""


class Packed(Struct, frozen=True):
    """Pages, packed: the words that codes stand for, and the blocks."""

    words: str
    """Packed as the blocks are: the words in the order of their codes, separated."""
    blocks: tuple[Block, ...]


def pack(pages: Mapping[str, str]) -> Packed:
    """The pages by name, packed; the same bytes for the same pages."""
    words = _words(pages.values())
    codes = dict(zip(words, _CODES, strict=False))
    # The reserved ones are told as they are: nothing but their code stands for them in a page.
    told = SEPARATOR.join(words[len(_RESERVED) :])
    return Packed(_squeezed(told), tuple(_blocks(pages, codes)))


def _words(pages: Iterable[str]) -> list[str]:
    """What gets a code: the reserved characters, then what it saves most for."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update(_WORD.findall(page))
    for reserved in _RESERVED:
        del seen[reserved]
    saved = {word: (count - 1) * (len(word) - 2) for word, count in seen.items() if count > 1}
    room = len(_CODES) - len(_RESERVED)
    ranked = sorted(saved, key=lambda word: (-saved[word], word))
    return [*_RESERVED, *ranked[:room]]


def _blocks(pages: Mapping[str, str], codes: Mapping[str, str]) -> Iterator[Block]:
    names: list[str] = []
    coded: list[str] = []
    size = 0
    for name, page in pages.items():
        names.append(name)
        coded.append(_WORD.sub(lambda found: codes.get(found[0], found[0]), page))
        size += len(page)
        if size >= BLOCK:
            yield Block(tuple(names), _squeezed(SEPARATOR.join(coded)))
            names, coded, size = [], [], 0
    if names:
        yield Block(tuple(names), _squeezed(SEPARATOR.join(coded)))


def _squeezed(text: str) -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = b85encode(deflate.compress(text.encode("utf-8")) + deflate.flush())
    return packed.replace(b"<", OPENS).decode("ascii")
