"""What is packed by gzip among other bytes, or in base64: `tar -cz a | base64` shows a file so.

Nobody can cover a part of it. So all of it is hidden where it holds something that has to be.
"""

from __future__ import annotations

import zlib
from typing import Final

HEAD: Final = b"\x1f\x8b\x08"
IN_BASE64: Final = b"H4sIA"
GATES: Final = (HEAD, IN_BASE64)
"""How it begins."""

READ: Final = 1 << 20
"""Bytes of it that are read."""

UNPACKED: Final = 1 << 20
"""Bytes that are unpacked of it."""

MOST: Final = 16_000
"""Units that looking at some bytes may have cost; where that is spent, it is hidden unseen."""

_PROBED: Final = 64
"""Bytes of it that tell whether it is something."""

_GZIP: Final = 31
"""What zlib calls the format."""


def tells(text: bytes) -> bool:
    """Whether a match of the automaton is how something packed begins."""
    return text in GATES


def unpacked(data: bytes, at: int) -> tuple[bytes, int]:
    """What is packed at a place, as far as it can be told, and where it ends."""
    stream = zlib.decompressobj(_GZIP)
    try:
        # Most of what begins so is nothing, and not worth to be copied.
        zlib.decompressobj(_GZIP).decompress(data[at : at + _PROBED], _PROBED)
        piece = data[at : at + READ]
        held = stream.decompress(piece, UNPACKED)
    except zlib.error:
        return b"", at
    return held, at + len(piece) - len(stream.unused_data)
