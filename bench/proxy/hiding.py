"""A key kept out of what others get to see: answers, errors, log lines, in each of its forms."""

from __future__ import annotations

import base64
import json
from typing import Final
from urllib.parse import quote

LEAST: Final = 8
"""Bytes of a form that is looked for; shorter ones stand in texts by chance."""


def forms(secret: str) -> tuple[bytes, ...]:
    """The ways in which a text may hold a secret, the longest first.

    As it is, URL-encoded, as JSON may write it, in hexadecimal digits, and the part of base64 that
    each of three alignments leaves the same.
    """
    data = secret.encode()
    found = {data, quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    found |= {data.hex().encode(), data.hex().upper().encode()}
    found |= {"".join(f"\\u{ord(one):04x}" for one in secret).encode()}
    for shift in range(3):
        held = data[shift:]
        inner = base64.b64encode(held[: len(held) // 3 * 3])
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    return tuple(sorted((one for one in found if len(one) >= LEAST), key=len, reverse=True))


class Hiding:
    """Replaces a secret by stars, as many as it has bytes: no length of a message changes.

    For a stream: what may be the beginning of a secret waits for the next piece.
    """

    def __init__(self, secret: str | None) -> None:
        self._forms = () if secret is None else forms(secret)
        self._waiting = b""

    def feed(self, piece: bytes) -> bytes:
        """What can be passed on now that a piece came."""
        if not self._forms:
            return piece
        data = self.within(self._waiting + piece)
        kept = max((_begun(data, form) for form in self._forms), default=0)
        self._waiting = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """What still waited, at the end."""
        held, self._waiting = self._waiting, b""
        return held

    def within(self, data: bytes) -> bytes:
        """A whole message without the secret."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, b"*" * len(form))
        return data

    def text(self, text: str) -> str:
        """A whole text without the secret."""
        return self.within(text.encode(errors="replace")).decode(errors="replace")


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of data begin a form; 0 for none."""
    start = max(0, len(data) - len(form) + 1)
    while (start := data.find(form[:1], start)) >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start += 1
    return 0
