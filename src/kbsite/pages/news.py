"""What there is to tell of a site, as entries of its feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from kbsite.feeds.atom import Entry, Told
from kbsite.model.audit import Audit
from kbsite.model.run import Run
from kbsite.pages.audits import Correction, corrections
from kbsite.pages.facts import in_short, score
from kbsite.pages.page import Site, address, attempt_of, run_path
from kbsite.store.runs import StoredRun


def entries(site: Site, base: str) -> Iterator[Entry]:
    """New runs, new verdicts and corrections, in no order; `base` is put before addresses."""
    for stored in site.runs:
        run, audit = stored.run, stored.audit
        when = stored.metrics.graded or run.ended or run.started or _named(run)
        yield Entry(f"run:{run.id}", when, partial(_run, site, stored, base))
        if audit is not None:
            key = f"verdict:{run.id}:{audit.date}:{audit.verdict.value}"
            yield Entry(key, audit.date, partial(_verdict, run, audit, base))
    times: Counter[str] = Counter()
    for one in reversed(corrections(site)):
        earlier = one.earlier
        key = f"correction:{one.stored.run.id}:{earlier.replaced}:{earlier.verdict.value}"
        times[key] += 1
        # A verdict may be replaced, come back and be replaced again within a day.
        key += f":{times[key]}" if times[key] > 1 else ""
        yield Entry(key, earlier.replaced, partial(_correction, one, base))


def _run(site: Site, stored: StoredRun, base: str) -> Told:
    run, figure = stored.run, attempt_of(stored).score
    came_to = f"{stored.metrics.status.label}{f', {score(figure)}' if figure is not None else ''}"
    return Told(
        title=f"run: {_who(run)}",
        href=_page(run, base),
        summary=f"{site.problem_title(run.problem)}: {came_to}",
        author=run.contender.label,
        kind="run",
    )


def _verdict(run: Run, audit: Audit, base: str) -> Told:
    return Told(
        title=f"{audit.verdict.value}: {_who(run)}",
        href=_page(run, base),
        summary=in_short(audit.summary),
        author=audit.auditor,
        kind="verdict",
    )


def _correction(one: Correction, base: str) -> Told:
    run, earlier = one.stored.run, one.earlier
    return Told(
        title=f"{earlier.verdict.value} became {one.verdict.value}: {_who(run)}",
        href=_page(run, base),
        summary=in_short(earlier.why),
        author=earlier.by,
        kind="correction",
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
