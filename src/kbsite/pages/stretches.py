"""A stretch of a page that is put in anew while all else of the page stays.

A run's page leads to the runs beside it on its board. Where one of these is another run than it
was, that is all that changes of a page that holds a whole transcript.

What a run holds must not be able to say where such a stretch lies. So its place is counted in
bytes when the page is made, and what lies there is held against a digest before it is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kbsite.pages.page import Renderer, Site
    from kbsite.store.runs import StoredRun


class Stretch(Struct, frozen=True):
    """A stretch of a page's own file that can be put in anew."""

    html: Callable[[Site, StoredRun, Renderer], str]
    """Makes it, for the page of a run."""
    depends: Callable[[Site, StoredRun], object]
    """All that it depends on beside code, titles and settings, as plain data. Nothing else of the
    page depends on it."""


class Cut(Struct, frozen=True):
    """Where a file has its stretch."""

    start: int
    """Bytes before it."""
    size: int
    """Bytes of it."""
    digest: str
    """What lies there."""


def with_stretch(html: str, render: Callable[[str], str]) -> tuple[str, Cut]:
    """A page with its stretch, and where that lies; `render` gives it with a word in its place."""
    # No run can hold a word that is drawn after it was written.
    word = token_hex(16)
    before, _, after = render(word).partition(word)
    return f"{before}{html}{after}", _cut(len(before.encode("utf-8")), html.encode("utf-8"))


def with_other(data: bytes, cut: Cut, html: str) -> tuple[bytes, Cut] | None:
    """A file with another stretch in place of its own; None where that does not lie there."""
    end = cut.start + cut.size
    if _digest(data[cut.start : end]) != cut.digest:
        return None
    put = html.encode("utf-8")
    return b"".join((data[: cut.start], put, data[end:])), _cut(cut.start, put)


def _cut(start: int, held: bytes) -> Cut:
    return Cut(start, len(held), _digest(held))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
