"""Answers of the proxy's own: why a request does not go on, as each dialect says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.providers import Dialect

_GOOGLE = {
    400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 502: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}  # fmt: skip
_ANTHROPIC = {
    400: "invalid_request_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 502: "api_error", 504: "timeout_error",
}  # fmt: skip


@dataclass
class RefusedError(Exception):
    """A request that is answered here."""

    status: int
    sentence: str
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal(dialect: Dialect, status: int, sentence: str) -> bytes:
    """The body of an answer with an error."""
    error: dict[str, object]
    match dialect:
        case Dialect.ANTHROPIC:
            kind = _ANTHROPIC.get(status, "api_error")
            error = {"type": "error", "error": {"type": kind, "message": sentence}}
        case Dialect.GEMINI:
            kind = _GOOGLE.get(status, "UNKNOWN")
            error = {"error": {"code": status, "message": sentence, "status": kind}}
        case Dialect.CHAT | Dialect.RESPONSES:
            kind = _ANTHROPIC.get(status, "api_error")
            error = {"error": {"message": sentence, "type": kind, "param": None, "code": kind}}
    return json.dumps(error).encode()
