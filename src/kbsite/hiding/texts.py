"""Texts that are published as they are: what would be hidden of them, did they lie in a run."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.hiding.allowed import allowed
from kbsite.model.config import Redact
from kbsite.model.redaction import Span
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import DENIED


def told_by(data: bytes, place: str, rules: Redact, denied: tuple[bytes, ...]) -> Iterator[Span]:
    """What rules and the list find in a text, but what is allowed there; `place` as in entries."""
    looker = Looker(Known(Value(value, DENIED) for value in denied), rules.private_addresses)
    for span in looker.look(data).spans:
        value = data[span.start : span.end]
        if not allowed(rules.allow, span, place, value):
            yield span
