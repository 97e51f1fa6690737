"""Reads packed pages as static/single_file.js does."""

from __future__ import annotations

import html
import json
import re
import zlib
from base64 import b85decode

from kbsite.single_file.packed import OPENS, SEPARATOR, Block, Packed

STARTS = "".join(map(chr, [*range(1, 8), *range(14, 32)]))
CODE = re.compile(f"([{STARTS}])([!-~])")
_BLOCK = re.compile(
    r'<script type="application/octet-stream" (id="words"|data-pages="([^"]*)")>([^<]*)</script>'
)


def inflated(data: str) -> str:
    packed = b85decode(data.encode("ascii").replace(OPENS, b"<"))
    plain: bytes = zlib.decompress(packed, -zlib.MAX_WBITS)
    return plain.decode("utf-8")


def unpacked(packed: Packed) -> dict[str, str]:
    """The pages again, as static/single_file.js reads them."""
    words: list[str] = [*STARTS, SEPARATOR, *inflated(packed.words).split(SEPARATOR)]

    def word(found: re.Match[str]) -> str:
        place = STARTS.index(str(found[1])) * 94 + ord(str(found[2])) - ord("!")
        return words[place]

    pages: dict[str, str] = {}
    for block in packed.blocks:
        texts = [CODE.sub(word, text) for text in inflated(block.data).split(SEPARATOR)]
        pages |= dict(zip(block.names, texts, strict=True))
    return pages


def carried(text: str) -> dict[str, str]:
    """The pages that a single file carries, by name."""
    words = ""
    blocks: list[Block] = []
    for told, names, data in _BLOCK.findall(text):
        if told == 'id="words"':
            words = data
        else:
            blocks.append(Block(tuple(json.loads(html.unescape(names))), data))
    return unpacked(Packed(words, tuple(blocks))) if blocks else {}
