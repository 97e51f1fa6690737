"""How a Content-Security-Policy allows what stands in a page itself."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import lru_cache


@lru_cache(maxsize=16)  # the pages of runs have the same style and the same script
def source_of(text: str) -> str:
    """The source of a policy that allows this script or style alone: `'sha256-...'`."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"'sha256-{b64encode(digest).decode('ascii')}'"
