"""Pictures that a transcript holds."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from markupsafe import Markup

from kbsite.text.safe import visible

_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_SIGNATURES = re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP", re.DOTALL)


def picture(media_type: str, data: str, url: str) -> Markup:
    """An image of a transcript, held in the page itself; what is no such image is named, not shown.

    SVG is not shown: it is a document, not a picture.
    """
    packed = "".join(data.split())
    if media_type in _PICTURES and _is_picture(packed):
        address = f"data:{media_type};base64,{packed}"
        return Markup('<img class="picture" alt="image in the transcript" src="{}">').format(
            address
        )
    told = f"[image: {media_type} {url} {data}]"
    return Markup('<pre class="text">{}</pre>').format(visible(told))


def _is_picture(packed: str) -> bool:
    try:
        data = b64decode(packed.rstrip("=") + "=" * (-len(packed.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return _SIGNATURES.match(data) is not None
