"""An answer read on the side, as it passes by: never held whole, never in the way."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from bench.providers import Dialect
from bench.proxy.dialects import TAKES
from bench.proxy.sse import MOST_EVENT_BYTES, EventReader
from bench.proxy.told import Told
from bench.proxy.unpacking import Unpacking, can_unpack

MOST_ERROR_BYTES: Final = 64_000
"""Of an answer with an error status that are looked at."""

_PING = re.compile(rb'\{\s*"type"\s*:\s*"ping"\s*\}\s*')
"""What an Anthropic stream says while the model says nothing; others write comments."""

_MOST_PING = 100

_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')


class AnswerReader:
    """Fills in what an answer tells while its pieces go by.

    Whether it is a stream of events is seen by how it begins, as CLIs see it: servers send streams
    as text/plain, or without a type.
    """

    def __init__(self, told: Told, dialect: Dialect, *, status: int, encoding: str):
        self._told = told
        self._take = TAKES[dialect]
        self._failed = status >= 400
        self._begun = self._failed
        self._events: EventReader | None = None
        self.heard: float | None = None
        """When something of the answer came last, by the monotonic clock; keep-alives are none."""
        self._most = MOST_ERROR_BYTES if self._failed else MOST_EVENT_BYTES
        self._held = bytearray()
        self._unpacking = Unpacking() if can_unpack(encoding) else None
        self._readable = encoding in ("", "identity") or self._unpacking is not None
        if not self._readable:
            told.error = f"the answer is compressed as {encoding}, which was not asked for"

    def feed(self, piece: bytes) -> None:
        """A piece of the body came by."""
        if self._readable:
            for part in [piece] if self._unpacking is None else self._unpacking.feed(piece):
                self._feed(part)

    def _feed(self, part: bytes) -> None:
        if not self._begun:
            part = part.lstrip()
            if not part:
                return
            self._begun = True
            self._events = None if part.startswith((b"{", b"[")) else EventReader()
        if self._events is not None:
            self._take_all(self._events.feed(part))
            return
        if part.strip():
            self.heard = time.monotonic()
        if len(self._held) < self._most:
            self._held += part[: self._most - len(self._held)]

    def end(self) -> float | None:
        """The body is at its end; seconds to wait before the next try, where it names them."""
        if self._events is not None:
            self._take_all(self._events.end())
        elif self._failed:
            self._told.error = error_text(bytes(self._held))
            found = _DELAY.search(self._held)
            return float(found[1]) if found else None
        elif self._held:
            self._take_all([bytes(self._held)])
        return None

    def _take_all(self, events: Iterable[bytes]) -> None:
        for data in events:
            if not _PING.fullmatch(data[:_MOST_PING]):
                self.heard = time.monotonic()
            try:
                self._take(self._told, data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                # What cannot be read tells nothing: an answer that never says why it stopped
                # is BROKEN, and says so in the account.
                continue


def error_text(body: bytes) -> str:
    """What the body of an answer with an error status says, in a line or two."""
    text = body.decode(errors="replace").strip()
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text or "no explanation came with it"
    if isinstance(held, list) and held:
        held = held[0]
    if not isinstance(held, dict):
        return text
    error = held.get("error", held)
    return _sentence(error) if isinstance(error, dict) else str(error)


def _sentence(error: dict[str, Any]) -> str:
    kinds = [error.get(name) for name in ("type", "status", "code")]
    kind = next((str(one) for one in kinds if one), "")
    message = next((error[name] for name in ("message", "detail", "msg") if error.get(name)), error)
    said = f"{kind}: {message}" if kind else str(message)
    # Who passes requests on to others, as OpenRouter does, quotes here what those said.
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str) or not raw:
        return said
    return f"{said}: {error_text(raw.encode(errors='replace'))}"
