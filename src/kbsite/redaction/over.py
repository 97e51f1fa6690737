"""All that goes over several lines and says something else than what stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kbsite.redaction import octal, pieces, wrapped
from kbsite.redaction.crowded import Effort, Past, stretch
from kbsite.redaction.dumps import Dump

LEAST: Final = wrapped.LEAST
"""Bytes that such a thing has, at least."""

AROUND: Final = 12_288
"""Bytes before and behind some bytes in which it may begin and end."""

Lines = wrapped.Wrapped | Dump | pieces.Pieces
"""Lines that say something together."""


def over_lines(
    data: bytes,
    start: int,
    end: int,
    crowded: list[tuple[int, int]],
    inner: Effort | None = None,
    *,
    pieced: bool = False,
) -> Iterator[tuple[Lines, Effort]]:
    """What goes over several lines in a part of some bytes, and what looking at it is added to.

    Each way to write it has a budget of its own; where that is spent, what is hidden unseen is
    added to `crowded`. What lies within something else costs what `inner` has left. With `pieced`
    what is printed in pieces is among them, which rules find by their automaton.
    """
    first, last = max(0, start - AROUND), min(len(data), end + AROUND)
    looks: list[Callable[[bytes, int, int, Past], Iterator[Lines]]]
    looks = [wrapped.wrapped, octal.dumped, *([pieces.all_pieces] if pieced else [])]
    for look in looks:
        past, effort = Past(), inner or Effort(first)
        for view in look(data, first, last, past):
            if inner is None and effort.is_spent(view.start):
                crowded.append(stretch(data, view.start, last))
                past.at = crowded[-1][1]
                continue
            effort.spent += 1
            yield view, effort
