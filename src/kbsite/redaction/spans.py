"""Spans that are found in some bytes, put in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kbsite.model.redaction import Form, Span


def whole(data: bytes, span: Span) -> Span:
    """A span that begins in no escape: half of one would be another."""
    if (
        span.form not in (Form.PLAIN, Form.SHAPE, Form.JSON)
        or data[span.start - 1 : span.start] != b"\\"
    ):
        return span
    first = span.start
    while first and data[first - 1 : first] == b"\\":
        first -= 1
    if (span.start - first) % 2 == 0:
        return span
    skipped = 5 if data[span.start : span.start + 1] == b"u" else 1
    return Span(min(span.end, span.start + skipped), span.end, span.rule, span.form)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap made one."""
    held = [span for span in spans if span.start < span.end]
    if all(one.end <= two.start and one.member == two.member for one, two in pairwise(held)):
        return held
    whole: list[Span] = []
    for span in sorted(held, key=lambda one: (one.member, one.start, -one.end)):
        if not whole or span.member != whole[-1].member or span.start >= whole[-1].end:
            whole.append(span)
        elif span.end > whole[-1].end:
            last = whole[-1]
            form = _safest((last.form, span.form))
            whole[-1] = last._replace(end=span.end, form=form)
    return whole


def _safest(forms: Sequence[Form]) -> Form:
    """The form of a stretch that is written in two."""
    order = (Form.HEX, Form.BASE64, Form.URL, Form.COLOUR, Form.JSON, Form.PLAIN, Form.SHAPE)
    return min(forms, key=order.index)
