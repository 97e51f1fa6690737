"""Where a transcript has very many parts, the run's page tells of the first, and lists of others.

So that page opens at once, whatever the size of its transcript. A list is an ordinary page with
links to its parts, and a script brings what it tells into the run's page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbsite.pages.filters import Filters
from kbsite.pages.page import File, Renderer
from kbsite.pages.parts import Part
from kbsite.pages.readable import readable
from kbsite.pages.steps import line_ranges

HERE = 80
"""Parts that the run's own page tells of, beside the first one, whose steps it holds."""

IN_LIST = 500
"""Parts that a list tells of at most."""


class PartList(Struct, frozen=True):
    """Some parts, one after the other, which a page of its own tells of."""

    number: int
    """From 1."""
    parts: Sequence[Part]

    @property
    def page(self) -> str:
        """File name of its page, in the folder of the run's page."""
        return f"parts-{self.number:04}.html"

    @property
    def start(self) -> int:
        """Which item its first part starts with, from 1."""
        return self.parts[0].start

    @property
    def end(self) -> int:
        """Which item its last part ends with."""
        return self.parts[-1].end

    @property
    def items(self) -> int:
        """How many items its parts hold."""
        return self.end - self.start + 1

    @property
    def lines(self) -> str:
        """The lines of files within which those of its parts lie, as a part tells its own."""
        return line_ranges(item for part in self.parts for item in part.items)


def told(
    parts: Sequence[Part], *, in_one_file: bool = False
) -> tuple[Sequence[Part], Sequence[PartList]]:
    """The parts that a run's page tells of beside the first one, and lists of all others.

    Where all of them are in its own file, it tells of all.
    """
    if in_one_file:
        return parts[1:], ()
    rest = parts[1 + HERE :]
    lists = [
        PartList(number, rest[at : at + IN_LIST])
        for number, at in enumerate(range(0, len(rest), IN_LIST), 1)
    ]
    return parts[1 : 1 + HERE], lists


def pages(
    run_id: str, lists: Sequence[PartList], filters: Filters, renderer: Renderer
) -> Iterator[File]:
    """The pages of the lists, which link to each other."""
    for held in lists:
        path = f"runs/{run_id}/{held.page}"
        values = {"title": f"steps {held.start} to {held.end}", "held": held}
        values |= {"lists": lists, "filters": filters}
        yield File(path, readable(renderer.page("pages/parts.html", path, values)))
