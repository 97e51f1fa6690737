"""What adapters have in common: what they refuse, how they quote, versions that stand alone."""

from __future__ import annotations

import json
import re

from bench.harnesses.form import Adapter, Asked, Completion, Said
from kbsite.errors import UsageError
from kbsite.model.finding import one_line

LONGEST_DETAIL = 600
"""Characters of what is told of an end: some CLIs quote whole answers of the API."""

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")


def check(adapter: Adapter, asked: Asked) -> None:
    """Raise UsageError for an effort or a dialect that an adapter has not."""
    if asked.dialect not in adapter.dialects:
        known = ", ".join(one.value for one in adapter.dialects)
        raise UsageError(
            f"{adapter.id}: it does not speak {asked.dialect.value!r}; expected one of: {known}. "
            "Take a provider that serves the model so."
        )
    if asked.effort is not None and asked.effort not in adapter.efforts:
        known = ", ".join(adapter.efforts) or "none, for it has no switch"
        raise UsageError(f"{adapter.id}: effort {asked.effort!r}, expected one of: {known}")


def bare_version(printed: str) -> str | None:
    """The version, if that is all that was printed: some CLIs do not say their name."""
    said = printed.strip()
    return said if _VERSION.fullmatch(said) else None


def ended(said: Said, detail: str) -> Completion:
    """How a session ended, with what was said of it in one line of printable characters."""
    # sliced first: what is quoted may be as long as the file that it stands in
    shown = one_line(detail[: LONGEST_DETAIL + 1])
    if len(shown) > LONGEST_DETAIL:
        shown = shown[:LONGEST_DETAIL] + "…"
    return Completion(said=said, detail=shown)


def as_json(value: object) -> bytes:
    """A configuration as the bytes of its file."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def as_toml(text: str) -> str:
    """A text as a basic string of TOML, which JSON's strings are as well, but for one byte."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
