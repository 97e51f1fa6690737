"""In which order files of a site are sent, so that a reader never follows a link to nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

_PAGE = ".html"


def _is_page(key: str) -> bool:
    return key.endswith(_PAGE)


def _depth(key: str) -> int:
    return key.count("/")


def sending(new: Iterable[str], changed: Iterable[str]) -> Iterator[list[str]]:
    """The files to send, in steps: each begins when the one before it is done.

    What is new comes first, for nothing leads to it yet; then what changed, pages after all that
    they load, and pages from the deepest to the first page of the site. So whatever a page leads
    to is there before the page is.
    """
    fresh, other = sorted(new), sorted(changed)
    yield from _step(key for key in fresh if not _is_page(key))
    # The first page that is published is reached from nowhere, and yet is asked for.
    entry = [key for key in fresh if _is_page(key) and _depth(key) == 0]
    yield from _step(key for key in fresh if _is_page(key) and _depth(key) > 0)
    yield from _step(key for key in other if not _is_page(key))
    pages = sorted([*entry, *(key for key in other if _is_page(key))], key=_depth, reverse=True)
    for _, held in groupby(pages, _depth):
        yield list(held)


def dropping(gone: Collection[str]) -> Iterator[list[str]]:
    """The files to delete, in steps: pages, the first ones first, and then what they load."""
    pages = sorted((key for key in gone if _is_page(key)), key=_depth)
    for _, held in groupby(pages, _depth):
        yield list(held)
    yield from _step(key for key in gone if not _is_page(key))


def _step(keys: Iterable[str]) -> Iterator[list[str]]:
    held = list(keys)
    if held:
        yield held
