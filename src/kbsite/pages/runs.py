"""The index of all runs, and of what could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kbsite.pages.page import INDEX, Page, Site, templated


def pages(site: Site) -> Iterator[Page]:
    """The index of runs."""
    yield templated(f"runs/{INDEX}", "pages/runs.html", partial(_values, site))


def _values(site: Site) -> dict[str, object]:
    runs = sorted(site.runs, key=lambda stored: (stored.run.board, stored.run.id))
    return {"title": "runs", "runs": runs}
