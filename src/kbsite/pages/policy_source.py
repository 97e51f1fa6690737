"""How a Content-Security-Policy allows what stands in a page itself."""

from __future__ import annotations

import hashlib
from base64 import b64encode


def source_of(text: str) -> str:
    """The source of a policy that allows this script or style alone: `'sha256-...'`."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"'sha256-{b64encode(digest).decode('ascii')}'"
