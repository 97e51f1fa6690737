"""Who serves a model, in which dialects, and where the key lies: never the key itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from urllib.parse import urlsplit


class Dialect(Enum):
    """An API that a CLI can speak to a model."""

    ANTHROPIC = "anthropic"
    """Anthropic Messages: POST /v1/messages."""
    RESPONSES = "responses"
    """OpenAI Responses: POST /v1/responses."""
    CHAT = "chat"
    """OpenAI Chat Completions: POST /v1/chat/completions."""
    GEMINI = "gemini"
    """Gemini: POST /v1beta/models/MODEL:streamGenerateContent."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A service that models are asked at."""

    id: str
    """Such as "anthropic"; it names the provider in run.json, sweeps and the ledger."""
    bases: Mapping[Dialect, str]
    """For each dialect that it speaks, the URL before the dialect's own path (/v1/…)."""
    key_variable: str | None
    """The variable of the operator's environment that holds the key; None where none is needed."""
    slots: int = 4
    """Sessions that may run at once."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Sent with each request beside the key, such as a version of the API; nothing secret."""

    def host(self, dialect: Dialect) -> str:
        """The host that requests of a dialect go to; KeyError if it does not speak it."""
        return urlsplit(self.bases[dialect]).netloc
