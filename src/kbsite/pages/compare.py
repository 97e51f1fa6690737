"""The page that puts runs of a problem side by side; what it shows of each, a script hands it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kbsite.model.board import Attempt
from kbsite.pages.compared import label
from kbsite.pages.page import COMPARE, Page, Site, templated
from kbsite.trajectories.phases import Phase

LISTED = 20
"""Runs of a problem that the page lists, the best ones: its script finds the others."""


def pages(site: Site) -> Iterator[Page]:
    """One page, which shows the runs that its address names."""
    values, depends = partial(_values, site), partial(_depends, site)
    yield templated(COMPARE, "pages/compare.html", values, depends)


def _depends(site: Site) -> object:
    return [
        (held.board.config.id, site.problem_title(held.problem), _all_shown(site, held.attempts))
        for held in site.contests
    ]


def _all_shown(site: Site, attempts: Sequence[Attempt]) -> object:
    return len(attempts), [_shown(site, attempt) for attempt in attempts[:LISTED]]


def _shown(site: Site, attempt: Attempt) -> object:
    """What the page shows of a run."""
    metrics, audit = attempt.metrics, attempt.audit
    return (
        attempt.run.id, attempt.run.contender, site.places[attempt.run.id], metrics.status,
        metrics.detail, attempt.score, metrics.interval, attempt.counts, audit and audit.verdict,
    )  # fmt: skip


def _values(site: Site) -> dict[str, object]:
    return {
        "title": "compare runs",
        "phases": [phase.value for phase in Phase],
        "label": partial(label, site),
        "listed": LISTED,
    }
