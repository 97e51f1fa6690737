"""A run's raw files: its page names some of many, and pages of their own name all of them.

A run may hold thousands of files, and its page stays as light as that of any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kbsite.pages.page import File, Renderer
from kbsite.store.files import Stored
from kbsite.store.run_folders import SNAPSHOTS
from kbsite.store.runs import StoredRun

HERE = 100
"""Files that the run's page names."""

AT_ONCE = 500
"""Files that one of the other pages names."""


class RawFiles(Struct, frozen=True):
    """The raw files of a run as its page names them."""

    here: Sequence[Stored]
    """In order; of many those in the fewest folders, snapshots of the solution last."""
    more: int
    """How many others there are; the pages of `list_page` name all."""
    page: str
    """File name of the first of those, in the folder of the run's page."""


def raw_files(stored: StoredRun) -> RawFiles:
    """What the run's page names."""
    near = sorted(stored.files, key=_distance)[:HERE] if len(stored.files) > HERE else stored.files
    return RawFiles(near, len(stored.files) - len(near), list_page(1))


def _distance(file: Stored) -> tuple[bool, int]:
    return file.name.startswith(SNAPSHOTS), file.name.count("/")


def list_page(number: int) -> str:
    """File name of one of the pages that name all files, from 1."""
    return "files.html" if number == 1 else f"files-{number}.html"


def raw_file_pages(stored: StoredRun, renderer: Renderer) -> Iterator[File]:
    """The pages that name all files of a run; none where its own page does."""
    if len(stored.files) <= HERE:
        return
    numbers = range(1, -(-len(stored.files) // AT_ONCE) + 1)
    for number in numbers:
        path = f"runs/{stored.run.id}/{list_page(number)}"
        values = {
            "title": "raw files", "run": stored.run, "count": len(stored.files),
            "files": stored.files[AT_ONCE * (number - 1) : AT_ONCE * number],
            "number": number, "pages": [(one, list_page(one)) for one in numbers],
        }  # fmt: skip
        yield File(path, renderer.page("pages/files.html", path, values))
