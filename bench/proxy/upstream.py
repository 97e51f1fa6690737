"""Where a request may go, and with which key: everything else a proxy refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, urlencode, urlsplit

from bench.providers import Dialect, Provider

CREDENTIALS = frozenset({
    "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization",
    "openai-organization", "openai-project", "chatgpt-account-id", "x-goog-user-project",
})  # fmt: skip
"""Headers that say who pays. A CLI's own never go on, the provider's never come back."""

_CONNECTION = frozenset({
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer",
    "transfer-encoding", "upgrade", "http2-settings",
})  # fmt: skip
_OURS = frozenset({"host", "content-length", "accept-encoding", "content-encoding", "expect"})
_QUERY_KEYS = frozenset({"key", "api_key", "api-key", "apikey", "access_token", "token"})

_MODEL = r"[A-Za-z0-9][\w.:@-]*(?:/[A-Za-z0-9][\w.:@-]*){0,2}"
_GEMINI = r"/v1(?:beta|alpha)?/models"
_GEMINI_MODEL = r"[A-Za-z0-9][\w.-]*"
_VERSION = re.compile(r"/v\d+[a-z]*(?=/|$)", re.ASCII)


class Kind(Enum):
    """What a request is for."""

    MODEL = "model"
    """An answer of a model: what is metered, and starts the clock."""
    SIDE = "side"
    """A count of tokens, or a list of models."""


_PATHS: Mapping[Dialect, tuple[tuple[Kind, str, str], ...]] = {
    Dialect.ANTHROPIC: (
        (Kind.MODEL, "POST", r"/v1/messages"),
        (Kind.SIDE, "POST", r"/v1/messages/count_tokens"),
        (Kind.SIDE, "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
    Dialect.RESPONSES: (
        (Kind.MODEL, "POST", r"/v1/responses"),
        (Kind.SIDE, "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
    Dialect.CHAT: (
        (Kind.MODEL, "POST", r"/v1/chat/completions"),
        (Kind.SIDE, "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
    Dialect.GEMINI: (
        (Kind.MODEL, "POST", rf"{_GEMINI}/{_GEMINI_MODEL}:(?:streamG|g)enerateContent"),
        (Kind.SIDE, "POST", rf"{_GEMINI}/{_GEMINI_MODEL}:countTokens"),
        (Kind.SIDE, "GET", rf"{_GEMINI}(?:/{_GEMINI_MODEL})?"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Route:
    """A request that may go on."""

    kind: Kind
    url: str
    """Where it goes, without any key."""


@dataclass(frozen=True)
class Upstream:
    """A provider, the dialect in which it is asked, and the key that it wants to see.

    The key gets into the headers of a request to the provider and nowhere else.
    """

    provider: Provider
    dialect: Dialect
    key: str | None = field(default=None, repr=False)

    def route(self, method: str, target: str) -> Route | None:
        """Where a request for a target, as it stands in the request line, goes; None: nowhere."""
        path, _, query = target.partition("?")
        for kind, wanted, form in _PATHS[self.dialect]:
            if method == wanted and re.fullmatch(form, path, re.ASCII):
                return Route(kind=kind, url=self._joined(path) + _query(query))
        return None

    def _joined(self, path: str) -> str:
        """A path below the provider's base, which may name a version of the API itself."""
        base = self.provider.bases[self.dialect].rstrip("/")
        versioned = _VERSION.search(urlsplit(base).path)
        return base + (_VERSION.sub("", path, count=1) if versioned else path)

    def headers(self, given: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Headers that go to the provider, made of those that a CLI sent."""
        ours = _OURS | {name.lower() for name in self.provider.headers}
        sent: dict[str, str] = {}
        for name, value in passing(given):
            low = name.lower()
            if low not in ours:
                sent[low] = f"{sent[low]}, {value}" if low in sent else value
        # What a CLI is sent has to be understood for the account, as it comes and without delay:
        # compressed streams are cut at other places, and two of their forms need more libraries.
        own = {"accept-encoding": "identity", **self._credential()}
        return {**sent, **self.provider.headers, **own}

    def _credential(self) -> dict[str, str]:
        if self.key is None:
            return {}
        match self.dialect:
            case Dialect.ANTHROPIC if not self.provider.bearer:
                return {"x-api-key": self.key}
            case Dialect.GEMINI:
                return {"x-goog-api-key": self.key}
            case Dialect.ANTHROPIC | Dialect.CHAT | Dialect.RESPONSES:
                return {"authorization": f"Bearer {self.key}"}


def _query(query: str) -> str:
    """A query with its question mark and without keys; empty where nothing is left of it."""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=50) if query else []
    held = [(name, value) for name, value in pairs if name.lower() not in _QUERY_KEYS]
    return f"?{urlencode(held)}" if held else ""


def passing(given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that may cross a proxy: none of one connection alone, and no credentials."""
    held = list(given)
    named = {
        one.strip().lower()
        for name, value in held
        if name.lower() == "connection"
        for one in value.split(",")
    }
    stay = _CONNECTION | CREDENTIALS | named
    return [(name, value) for name, value in held if name.lower() not in stay]
