"""What there is to tell of a site, as entries of its feed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from kbsite.feeds.atom import Entry
from kbsite.model.audit import Audit
from kbsite.model.run import Run
from kbsite.pages.audits import corrections
from kbsite.pages.facts import in_short, score
from kbsite.pages.page import Site, address, attempt_of, run_path
from kbsite.store.runs import StoredRun


def entries(site: Site, base: str) -> Iterator[Entry]:
    """New runs, new verdicts and corrections, in no order; `base` is put before addresses."""
    for stored in site.runs:
        yield _run(site, stored, base)
        if stored.audit is not None:
            yield _verdict(stored, stored.audit, base)
    for one in corrections(site):
        run, earlier = one.stored.run, one.earlier
        yield Entry(
            key=f"correction:{run.id}:{earlier.replaced}:{earlier.verdict.value}",
            title=f"{earlier.verdict.value} became {one.verdict.value}: {_who(run)}",
            when=earlier.replaced,
            href=_page(run, base),
            summary=partial(in_short, earlier.why),
            author=earlier.by,
            kind="correction",
        )


def _run(site: Site, stored: StoredRun, base: str) -> Entry:
    run = stored.run
    figure = attempt_of(stored).score
    told = f"{stored.metrics.status.label}{f', {score(figure)}' if figure is not None else ''}"
    return Entry(
        key=f"run:{run.id}",
        title=f"run: {_who(run)}",
        when=stored.metrics.graded or run.ended or run.started or _named(run),
        href=_page(run, base),
        summary=lambda: f"{site.problem_title(run.problem)}: {told}",
        author=run.contender.label,
        kind="run",
    )


def _verdict(stored: StoredRun, audit: Audit, base: str) -> Entry:
    run = stored.run
    return Entry(
        key=f"verdict:{run.id}:{audit.date}:{audit.verdict.value}",
        title=f"{audit.verdict.value}: {_who(run)}",
        when=audit.date,
        href=_page(run, base),
        summary=partial(in_short, audit.summary),
        author=audit.auditor,
        kind="verdict",
    )


def _who(run: Run) -> str:
    return f"{run.contender.label} on {run.problem}"


def _page(run: Run, base: str) -> str:
    return base + address(run_path(run.id), seen_from="").removeprefix("./")


def _named(run: Run) -> datetime | None:
    """When a run began by its id, where nothing else tells."""
    try:
        return datetime.strptime(run.id[:15], "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
