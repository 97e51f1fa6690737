"""Fingerprints of token sequences by winnowing, after Schleimer, Wilkerson and Aiken (2003).

Of each GRAM tokens in a row a number is taken, and of each WINDOW such numbers in a row the least
is kept: two sources that have GRAM + WINDOW - 1 tokens in a row in common share at least one.
"""

from __future__ import annotations

import struct
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Final
from zlib import crc32

GRAM: Final = 20
WINDOW: Final = 12

MOST: Final = 600
"""Numbers that are kept of a source: the least ones, so that two long sources keep the same."""

SPACE: Final = 1 << 32


def marks(found: Iterable[str]) -> list[int]:
    """The numbers that stand for a sequence of tokens, in order of size, each once."""
    hashes = _hashes(array("I", [crc32(token.encode()) for token in found]))
    kept: set[int] = set()
    least, place = SPACE, -1
    width = min(WINDOW, len(hashes))
    for start in range(len(hashes) - width + 1 if hashes else 0):
        end = start + width
        if place < start:
            least = min(hashes[start:end])
            place = hashes.index(least, start)
        elif hashes[end - 1] < least:
            least, place = hashes[end - 1], end - 1
        kept.add(least)
    return sorted(kept)


def limited(kept: list[int]) -> tuple[list[int], int]:
    """The least of the numbers, at most MOST, and the number below which none is left out."""
    return (kept, SPACE) if len(kept) <= MOST else (kept[:MOST], kept[MOST])


def packed(kept: Sequence[int]) -> str:
    """Numbers as a text, a seventh of what they take in memory."""
    return b64encode(struct.pack(f"<{len(kept)}I", *kept)).decode()


def unpacked(text: str) -> array[int]:
    """What `packed` was given."""
    data = b64decode(text)
    return array("I", struct.unpack(f"<{len(data) // _BYTES}I", data))


_BYTES: Final = 4
"""Of a number below SPACE."""


def _hashes(values: array[int]) -> list[int]:
    """A number for each GRAM values in a row."""
    data, width = memoryview(values.tobytes()), values.itemsize
    return [
        crc32(data[start * width : (start + GRAM) * width])
        for start in range(len(values) - GRAM + 1)
    ]
