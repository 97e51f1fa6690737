"""Compressed answers, unpacked for the account: a provider may compress although nobody asked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

MOST_UNPACKED: Final = 256 << 20
"""Bytes of one answer; what comes after them is not looked at."""

_PIECE: Final = 1 << 16


class Unpacking:
    """gzip and deflate, piece by piece, in bounded memory; what is damaged ends it quietly."""

    def __init__(self, most: int = MOST_UNPACKED) -> None:
        self._left = most
        self._inflating = zlib.decompressobj(wbits=47)
        self.damaged = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """What a piece holds, in pieces."""
        while piece and self._left > 0 and not self.damaged:
            try:
                found = self._inflating.decompress(piece, _PIECE)
            except zlib.error:
                self.damaged = True
                return
            piece = self._inflating.unconsumed_tail
            if self._inflating.eof:
                # Another member may follow, as where parts were packed each for itself.
                piece = self._inflating.unused_data
                self._inflating = zlib.decompressobj(wbits=47)
            self._left -= len(found)
            yield found


def can_unpack(encoding: str) -> bool:
    """Whether an answer with this content-encoding can be unpacked here."""
    return encoding.lower() in ("gzip", "x-gzip", "deflate")
