"""Numbers that are drawn from the secret of a grade: who is told it can draw them again."""

from __future__ import annotations

import hmac


def drawn(secret: bytes, *path: object) -> int:
    """A seed of 63 bits for one use, by HMAC-SHA256 over its path."""
    text = "/".join(map(str, path)).encode()
    return int.from_bytes(hmac.digest(secret, text, "sha256")[:8], "big") >> 1


def bootstrap_seed(secret: bytes) -> int:
    """The seed of the draws that intervals come from; every reader of JSON holds its 53 bits."""
    return drawn(secret, "bootstrap") >> 10
