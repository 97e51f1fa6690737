"""In which order files of a site are sent, so that a reader never follows a link to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

_PAGE = ".html"


class _Kinds(NamedTuple):
    """Files of a site, by name."""

    pages: list[str]
    rest: list[str]
    """What pages load."""


def _depth(key: str) -> int:
    return key.count("/")


def sending(new: Iterable[str], changed: Iterable[str]) -> Iterator[list[str]]:
    """The files to send, in steps: each begins when the one before it is done.

    What is new comes first, for nothing leads to it yet; then what changed, pages after all that
    they load, and pages from the deepest to the first page of the site. So whatever a page leads
    to is there before the page is.
    """
    fresh, other = _sorted(new), _sorted(changed)
    # The first pages of a site lead to all others: also where they are new, they come last.
    first = [key for key in fresh.pages if not _depth(key)]
    yield from _step(fresh.rest)
    yield from _step([key for key in fresh.pages if _depth(key)])
    yield from _step(other.rest)
    pages = sorted([*first, *other.pages], key=_depth, reverse=True)
    for _, held in groupby(pages, _depth):
        yield list(held)


def dropping(gone: Iterable[str]) -> Iterator[list[str]]:
    """The files to delete, in steps: pages, the first ones first, and then what they load."""
    held = _sorted(gone)
    for _, pages in groupby(sorted(held.pages, key=_depth), _depth):
        yield list(pages)
    yield from _step(held.rest)


def _sorted(keys: Iterable[str]) -> _Kinds:
    kinds = _Kinds([], [])
    for key in sorted(keys):
        (kinds.pages if key.endswith(_PAGE) else kinds.rest).append(key)
    return kinds


def _step(keys: list[str]) -> Iterator[list[str]]:
    if keys:
        yield keys
