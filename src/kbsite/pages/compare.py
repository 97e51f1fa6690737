"""The page that puts runs of a problem side by side; what it shows of each, a script hands it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from markupsafe import Markup

from kbsite.model.board import Attempt
from kbsite.pages.compared import label
from kbsite.pages.contests import Contest
from kbsite.pages.page import COMPARE, Page, Site, templated
from kbsite.standing import digest, plain
from kbsite.trajectories.phases import Phase

LISTED = 20
"""Runs of a problem that the page lists, the best ones: its script finds the others."""


def pages(site: Site) -> Iterator[Page]:
    """One page, which shows the runs that its address names."""
    values, depends = partial(_values, site), partial(_depends, site)
    yield templated(COMPARE, "pages/compare.html", values, depends)


def _depends(site: Site) -> object:
    return digest(*(_contest(site, held) for held in site.contests))


def _contest(site: Site, held: Contest) -> object:
    """What the page shows of the runs of a problem."""
    title = site.problem_title(held.problem)
    return plain((held.board.config.id, held.problem, title, _all_shown(site, held.attempts)))


def _contest_html(site: Site, held: Contest, draw: Callable[[Contest], Markup]) -> Markup:
    """The same as HTML, made anew only where something of it changed."""
    shown = digest(_contest(site, held), len(site.contests) == 1)
    about = f"{held.board.config.id}/{held.problem}"
    html = site.kept.html("contests", about, shown, lambda: str(draw(held)))
    return Markup(html)  # noqa: S704 - a template made it


def _all_shown(site: Site, attempts: Sequence[Attempt]) -> object:
    return len(attempts), [_shown(site, attempt) for attempt in attempts[:LISTED]]


def _shown(site: Site, attempt: Attempt) -> object:
    """What the page shows of a run."""
    run, metrics, audit = attempt.run, attempt.metrics, attempt.audit
    # Figures as they are written: JSON has no word for what is not finite.
    return (
        run.id, run.harness, run.model, run.effort, run.variant, site.places[run.id],
        metrics.status.value, metrics.detail, repr((attempt.score, metrics.interval)),
        attempt.counts, audit and audit.verdict.value,
    )  # fmt: skip


def _values(site: Site) -> dict[str, object]:
    return {
        "title": "compare runs",
        "phases": [phase.value for phase in Phase],
        "label": partial(label, site),
        "listed": LISTED,
        "contest_html": partial(_contest_html, site),
    }
