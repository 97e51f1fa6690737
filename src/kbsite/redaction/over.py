"""All that goes over several lines and says something else than what stands there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kbsite.redaction import octal, wrapped
from kbsite.redaction.crowded import Effort, Past, stretch
from kbsite.redaction.dumps import Dump

LEAST: Final = wrapped.LEAST
"""Bytes that such a thing has, at least."""

AROUND: Final = 12_288
"""Bytes before and behind some bytes in which it may begin and end."""


def over_lines(
    data: bytes,
    start: int,
    end: int,
    crowded: list[tuple[int, int]],
    inner: Effort | None = None,
) -> Iterator[tuple[wrapped.Wrapped | Dump, Effort]]:
    """What goes over several lines in a part of some bytes, and what looking at it is added to.

    Each way to write it has a budget of its own; where that is spent, what is hidden unseen is
    added to `crowded`. What lies within something else costs what `inner` has left.
    """
    first, last = max(0, start - AROUND), min(len(data), end + AROUND)
    for look in (wrapped.wrapped, octal.dumped):
        past, effort = Past(), inner or Effort(first)
        for view in look(data, first, last, past):
            if inner is None and effort.is_spent(view.start):
                crowded.append(stretch(data, view.start, last))
                past.at = crowded[-1][1]
                continue
            effort.spent += 1
            yield view, effort
