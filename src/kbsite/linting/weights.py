"""What a page weighs on its way to a reader, against a budget for each kind of page.

The figures are those of the goals that the site was designed for: the first load of a run's page
does not grow with its transcript, and only the page that draws everything loads a chart library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kbsite.linting.addresses import Inside, resolved
from kbsite.linting.page_facts import Kind, Load, PageFacts
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity
from kbsite.search import FOLDER as SEARCH

KIB = 1024


@dataclass(frozen=True, slots=True)
class Budget:
    """What a kind of page may weigh at most, compressed by gzip, in KiB."""

    kind: str
    path: str
    """A regular expression that paths of this kind match."""
    page: int
    scripts: int = 30
    styles: int = 10
    requests: int = 8
    """Files that are loaded before a reader does anything, the icon left out."""
    elements: int | None = None


BUDGETS = (
    Budget("the page of a run", r"runs/[^/]+/index\.html", page=60, requests=3, elements=3_000),
    Budget("a part of a transcript", r"runs/[^/]+/steps-\d+\.html", page=100),
    Budget("a long text", r"runs/[^/]+/.+\.html", page=1_000),
    Budget("the page that draws all runs", r"explore/.*", page=120, scripts=430),
    Budget("a page", r".*", page=120),
)
"""The first that fits a page counts."""


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Pages that weigh more than their kind may."""
    for page, facts in site.pages.items():
        budget = next(one for one in BUDGETS if re.fullmatch(one.path, page, re.DOTALL))
        for what, weight, most, unit in _weighed(site, page, facts, budget):
            if weight > most:
                measured = unit if unit == what else f"{unit} of {what}"
                message = f"{weight:,} {measured}; expected at most {most:,} on {budget.kind}"
                yield Finding(Severity.WARNING, page, message, key=what)


def _weighed(
    site: BuiltSite, page: str, facts: PageFacts, budget: Budget
) -> Iterator[tuple[str, int, int, str]]:
    most = budget.page * KIB
    # What is small as it stands is so compressed too.
    yield "the page itself", facts.size if facts.size <= most else site.packed(page), most, _BYTES
    requests = 1
    for kind, what, allowed in (
        (Kind.SCRIPT, "scripts", budget.scripts),
        (Kind.STYLE, "style sheets", budget.styles),
    ):
        loaded = _paths(page, facts.loads, kind)
        paths = loaded | _paths(page, facts.later, kind)
        requests += len(loaded)
        yield what, sum(map(site.packed, filter(_is_code, sorted(paths)))), allowed * KIB, _BYTES
    yield "requests", requests, budget.requests, "files"
    if budget.elements is not None:
        yield "elements", facts.elements, budget.elements, "elements"


def _is_code(path: str) -> bool:
    """Whether a script or style is the site's own: scripts of data weigh what their runs do."""
    return path.startswith(("static/", f"{SEARCH}/"))


def _paths(page: str, loads: Iterable[Load], kind: Kind) -> set[str]:
    places = (resolved(load.raw, page) for load in loads if load.kind is kind)
    return {place.path for place in places if isinstance(place, Inside)}


_BYTES = "bytes compressed"
