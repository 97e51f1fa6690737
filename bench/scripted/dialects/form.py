"""What a dialect has to offer: it reads requests into conversations, and words answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bench.providers import Dialect
from bench.scripted.answer import Answer
from bench.scripted.conversation import Conversation
from kbsite.model.usage import Usage

PIECE = 24
"""Characters in a delta of a stream."""

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a path asks for."""

    counts: bool = False
    """Whether only tokens are to be counted."""
    model: str = ""
    """Where the path names it."""
    streams: bool | None = None
    """Where the path says it."""


@dataclass(frozen=True)
class Frame:
    """A part of a stream."""

    data: bytes
    told: Usage | None = None
    """What is known of the usage after it, if it tells any."""


class Speech(Protocol):
    """A dialect."""

    @property
    def kind(self) -> Dialect:
        """Which one."""
        ...

    def target(self, path: str) -> Target | None:
        """What a POST to this path is for; None where it is no path of this dialect."""
        ...

    def read(self, body: Mapping[str, Any], target: Target) -> Conversation:
        """The conversation in a request, whatever is wrong with it."""
        ...

    def whole(self, answer: Answer) -> Mapping[str, Any]:
        """The answer to a request without streaming."""
        ...

    def stream(self, answer: Answer) -> Iterator[Frame]:
        """The parts of a stream, from its begin to its end."""
        ...

    def told(self, usage: Usage) -> Usage:
        """What a whole answer tells of the usage: an API leaves out kinds of tokens."""
        ...

    def error(self, status: int, message: str | None = None) -> Mapping[str, Any]:
        """The body of an answer with this status, and what it says."""
        ...

    def error_frame(self, kind: str) -> bytes:
        """An error of this type within a stream."""
        ...

    def counted(self, tokens: int) -> Mapping[str, Any]:
        """The answer to a request that counts tokens."""
        ...


def sse(value: Mapping[str, Any], event: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {event}\n" if event else ""
    data = json.dumps(value, ensure_ascii=False)
    return f"{head}data: {data}\n\n".encode("utf-8", "replace")


def pieces(text: str) -> list[str]:
    """A text in pieces of a stream's deltas; none of an empty one."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def said(status: int) -> str:
    """What an error message says."""
    return f"scripted {status} {ERROR_TYPES.get(status, 'api_error')}"
