"""Ids that stand in addresses as they are: of boards, problems, harnesses, leaks and runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}(?<!\.partial)")

SLUG_RULE = (
    "it becomes part of an address; expected small letters, digits and . _ - only, and no .partial"
    " at its end"
)


def is_slug(name: str) -> bool:
    """Whether a name can be part of an address of the site, as it is.

    A run's folder ends like its problem: in `.partial` only as long as it is still written.
    """
    return _SLUG.fullmatch(name) is not None


_NO_STAMP = "00000000_000000"
"""Where nothing tells when a run started."""
_SLUG_LENGTH = 60


def slug(text: str) -> str:
    """Text in lower case with a hyphen for all that is no ASCII letter, digit or dot."""
    plain = re.sub(r"[^a-z0-9.]+", "-", text.lower())[:_SLUG_LENGTH].strip("-.")
    return re.sub(r"\.partial\Z", "-partial", plain) or "unknown"


def id_of_run(started: datetime | None, harness: str, model: str, problem: str) -> str:
    """The id of a run, but for what tells it from another one of the same second."""
    return f"{_stamp(started)}_{slug(harness)}_{slug(model)}_{problem}"


def _stamp(started: datetime | None) -> str:
    if started is None:
        return _NO_STAMP
    try:
        moment = started.astimezone(UTC)
    except OverflowError:
        # A time of the first or last day that there is, in another zone.
        moment = started
    return f"{moment:%Y%m%d_%H%M%S}"
