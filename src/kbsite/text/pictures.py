"""Pictures that a transcript holds."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from io import BytesIO

from markupsafe import Markup

from kbsite.text.safe import visible

_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_SIGNATURES = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<gif>GIF8[79]a)|(?P<webp>RIFF....WEBP)",
    re.DOTALL,
)
"""How each kind of picture begins, by the suffix of its files."""


def picture(media_type: str, data: str, url: str) -> Markup:
    """An image of a transcript, held in the page itself; what is no such image is named, not shown.

    SVG is not shown: it is a document, not a picture.
    """
    packed = "".join(data.split())
    if media_type in _PICTURES and _suffix(_decoded(packed)):
        address = f"data:{media_type};base64,{packed}"
        return Markup('<img class="picture" alt="image in the transcript" src="{}">').format(
            address
        )
    told = f"[image: {media_type} {url} {data}]"
    return Markup('<pre class="text">{}</pre>').format(visible(told))


def picture_file(media_type: str, data: str) -> tuple[bytes, str] | None:
    """What a file of the picture holds, and its suffix; None for what `picture` does not show."""
    held = _decoded("".join(data.split())) if media_type in _PICTURES else b""
    suffix = _suffix(held)
    return (held, suffix) if suffix else None


def picture_apart(held: bytes, address: str) -> Markup:
    """The image of a file, asked for when a reader comes near, its place kept free until then."""
    # Loaded where there is one: few transcripts have any.
    import imagesize

    width, height = imagesize.get(BytesIO(held[:_HEAD]))
    size = Markup(' width="{}" height="{}"').format(width, height)
    known = 0 < width <= _LONGEST and 0 < height <= _LONGEST
    return Markup(
        '<img class="picture" alt="image in the transcript" loading="lazy"{} src="{}">'
    ).format(size if known else "", address)


_HEAD = 1_000_000
"""Bytes in which a picture says how large it is: a hostile one has no end of others before that."""
_LONGEST = 20_000
"""Pixels of the longest side for which a page keeps a place free."""


def _decoded(packed: str) -> bytes:
    """The bytes of base64, with the signs at its end or without; none for what is no base64."""
    bare = packed.rstrip("=")
    try:
        return b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _suffix(held: bytes) -> str:
    """The suffix of such a picture's file; empty for what is none."""
    begins = _SIGNATURES.match(held)
    return (begins and begins.lastgroup) or ""
