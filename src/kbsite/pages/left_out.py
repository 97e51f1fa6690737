"""runs/<id>/ of a run whose run.json cannot be used: that it is left out, and why.

Addresses of a run stay where they were when somebody damages it: they say so, and are no 404.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from kbsite.model.finding import Finding, Severity
from kbsite.pages.page import INDEX, Page, Site, run_path, templated
from kbsite.store.run_folders import RUN, spelled
from kbsite.store.runs import fits_a_path

SHOWN = 100
"""Findings that a page tells; the others are counted."""


def pages(site: Site) -> Iterator[Page]:
    """A page for each run that is left out, and whose folder is called as an id may be."""
    for name, told in left_out(site).items():
        values = partial(_values, name, told)
        depends = partial(tuple, [one.text for one in told])
        yield templated(run_path(name), "pages/left_out.html", values, depends)


def left_out(site: Site) -> Mapping[str, Sequence[Finding]]:
    """What is wrong with the run.json of the runs that have a page for that, by the run's id."""
    torn: dict[str, list[Finding]] = {}
    for finding in site.findings:
        path = PurePosixPath(finding.path)
        name = path.parent.name
        if finding.severity is Severity.ERROR and path.name == RUN and fits_a_path(name):
            torn.setdefault(name, []).append(finding)
    if not torn:
        return torn
    taken = {spelled(INDEX), *(spelled(run_id) for run_id in site.by_id)}
    # Of two that some file systems take for one, the first has the page.
    first = {spelled(name): name for name in reversed(torn)}
    return {
        name: told
        for name, told in torn.items()
        if spelled(name) not in taken and first[spelled(name)] == name
    }


def _values(name: str, told: Sequence[Finding]) -> dict[str, object]:
    return {"title": name, "told": told[:SHOWN], "more": len(told[SHOWN:])}
