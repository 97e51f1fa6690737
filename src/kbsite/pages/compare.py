"""The page that puts runs of a problem side by side; what it shows of each, a script hands it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kbsite.pages.compared import label
from kbsite.pages.page import COMPARE, Page, Site, templated
from kbsite.trajectories.phases import Phase


def pages(site: Site) -> Iterator[Page]:
    """One page, which shows the runs that its address names."""
    yield templated(COMPARE, "pages/compare.html", partial(_values, site))


def _values(site: Site) -> dict[str, object]:
    return {
        "title": "compare runs",
        "phases": [phase.value for phase in Phase],
        "label": partial(label, site),
    }
