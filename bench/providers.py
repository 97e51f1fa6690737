"""Who serves a model, in which dialects, and where the key lies: never the key itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from kbsite.errors import InputError, UsageError

KNOWN: Final = Path(__file__).with_name("providers.yaml")
"""Public providers, as they are shipped."""

_SECRET_HEADERS: Final = frozenset({
    "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization",
})  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_LONGEST_NOTE = 300


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
    bearer: bool = False
    """Whether it takes the key as `Authorization: Bearer` in Anthropic's dialect, not x-api-key."""
    note: str = ""
    """A sentence that the runs with it have to tell, such as that no model stands behind it."""

    def host(self, dialect: Dialect) -> str:
        """The host that requests of a dialect go to; KeyError if it does not speak it."""
        return urlsplit(self.bases[dialect]).netloc


@dataclass(frozen=True)
class _Given:
    """An entry of a file: what it does not say stays as it is known."""

    bases: dict[str, str] | None = None
    key_variable: str | None = None
    slots: int | None = None
    headers: dict[str, str] | None = None
    bearer: bool | None = None
    note: str | None = None


@dataclass(frozen=True)
class _File:
    """A file of providers."""

    providers: dict[str, _Given]


def load_providers(path: Path | None = None) -> Mapping[str, Provider]:
    """Known providers by their id, with those of a file added or, key by key, put over them.

    Raises InvalidFileError (kbsite.store.parsing), which names file, line and key of each error.
    """
    known = _merged({}, KNOWN)
    return known if path is None else _merged(known, path)


def key_of(provider: Provider, environment: MutableMapping[str, str]) -> str | None:
    """The key that an environment holds for a provider, taken out of it; None if none is needed.

    Raises UsageError if it is not there, or no key could look like that. It is never shown.
    """
    variable = provider.key_variable
    if variable is None:
        return None
    key = environment.pop(variable, "").strip()
    if not key:
        said = f"{provider.id}: the variable {variable} is not set; it has to hold the key"
        raise UsageError(said)
    if not (key.isascii() and key.isprintable()) or " " in key or not 8 <= len(key) <= 4096:
        said = "expected 8 to 4096 visible ASCII characters without spaces"
        raise UsageError(f"{provider.id}: the variable {variable} holds no key: {said}")
    return key


def _merged(known: Mapping[str, Provider], path: Path) -> Mapping[str, Provider]:
    # Here, because adapters import this module and read no files.
    from kbsite.store.parsing import InvalidFileError, read_text, yaml_data
    from kbsite.store.records import lines_of, record

    text = read_text(path).removeprefix("\ufeff")
    data = yaml_data(path, text)
    given = record(data, _File, path, text).providers
    wrong = list(_misspelt(data, given))
    if not wrong:
        merged = {name: _provider(name, one, known.get(name)) for name, one in given.items()}
        wrong = [found for one in merged.values() for found in _impossible(one)]
        if not wrong:
            return MappingProxyType({**known, **merged})
    lines = lines_of(text, [f".{key}" for key, _ in wrong])
    raise InvalidFileError(
        [
            InputError(said, path=path, line=line, key=key)
            for (key, said), line in zip(wrong, lines, strict=True)
        ]
    )


def _provider(name: str, given: _Given, known: Provider | None) -> Provider:
    said = {key: value for key, value in vars(given).items() if value is not None}
    known = known or Provider(id=name, bases={}, key_variable=None)
    bases = {Dialect(dialect): base for dialect, base in (given.bases or {}).items()}
    return replace(known, **{**said, "bases": {**known.bases, **bases}})


def _misspelt(data: object, given: Mapping[str, _Given]) -> Iterator[tuple[str, str]]:
    held = data.get("providers", {}) if isinstance(data, dict) else {}
    keys = [field.name for field in fields(_Given)]
    for name, entry in held.items():
        for key in entry:
            if key not in keys:
                expected = f"expected one of {', '.join(keys)}; a key itself never stands here"
                yield f"providers.{name}.{key}", f"is not known; {expected}"
    dialects = [dialect.value for dialect in Dialect]
    for name, one in given.items():
        for dialect in one.bases or {}:
            if dialect not in dialects:
                expected = f"expected one of {', '.join(dialects)}"
                yield f"providers.{name}.bases.{dialect}", f"is no dialect; {expected}"


def _impossible(provider: Provider) -> Iterator[tuple[str, str]]:
    place = f"providers.{provider.id}"
    if not _ID.fullmatch(provider.id):
        yield place, "expected an id of small letters, digits, '.', '_' and '-'"
    if not provider.bases:
        yield place, "bases is missing; expected an address for each dialect"
    for dialect, base in provider.bases.items():
        if not _is_base(base):
            said = "expected an address like https://api.example.org, without user, query or '#'"
            yield f"{place}.bases.{dialect.value}", said
    if provider.key_variable is not None and not _VARIABLE.fullmatch(provider.key_variable):
        yield f"{place}.key_variable", "expected the name of a variable that holds the key"
    if not 1 <= provider.slots <= 1000:
        yield f"{place}.slots", f"expected 1 to 1000 sessions at once, got {provider.slots}"
    if not provider.note.isprintable() or len(provider.note) > _LONGEST_NOTE:
        yield f"{place}.note", f"expected one line of at most {_LONGEST_NOTE} characters"
    yield from _impossible_headers(provider, place)


def _is_base(base: str) -> bool:
    try:
        parts = urlsplit(base)
        named = parts.hostname and parts.port != 0
    except ValueError:
        return False
    plain = base.isascii() and base.isprintable() and " " not in base and "%" not in base
    whole = f"{parts.scheme}://{parts.netloc}{parts.path}" == base and "@" not in parts.netloc
    return bool(named and plain and whole and parts.scheme in ("http", "https"))


def _impossible_headers(provider: Provider, place: str) -> Iterator[tuple[str, str]]:
    for name, value in provider.headers.items():
        if name.lower() in _SECRET_HEADERS:
            yield f"{place}.headers.{name}", "is set by the proxy; name the variable of the key"
        elif not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
            yield f"{place}.headers.{name}", "expected a header's name and one line of ASCII text"
