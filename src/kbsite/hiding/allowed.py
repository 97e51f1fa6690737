"""The list of what is no secret, as kbsite.yaml has it."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from kbsite.model.config import Allowed
from kbsite.model.redaction import Span


def allowed(entries: Iterable[Allowed], span: Span, place: str, value: bytes) -> bool:
    """Whether an entry covers a span with this value, at `place`; an empty entry covers none."""
    return any(_covers(one, span, place, value) for one in entries)


def _covers(one: Allowed, span: Span, place: str, value: bytes) -> bool:
    told = bool(one.text or one.rule or one.file)
    return (
        told
        and (not one.text or value == one.text.encode())
        and (not one.rule or one.rule == span.rule)
        and (not one.file or fnmatchcase(place, one.file))
    )
