"""Pictures in transcripts: the data itself, however a CLI wraps it, or the place where it lies."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kbsite.harnesses.lines import mapping, text
from kbsite.model.event import Image

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,;]*)*;base64,")
_TYPES = ("media_type", "mimeType", "mediaType")


def picture_at(url: str) -> Image:
    """The picture that a data URL holds, or the one that an address or a path names."""
    head = _DATA_URL.match(url)
    return Image(head[1], url[head.end() :]) if head else Image("", "", url)


def picture_in(block: Mapping[str, object]) -> Image:
    """The picture of a block: what tells of it stands in its `source`, or in the block itself."""
    held = mapping(block.get("source")) or block
    media_type = next((text(held[key]) for key in _TYPES if key in held), "")
    return Image(media_type, text(held.get("data")), text(held.get("url")))
