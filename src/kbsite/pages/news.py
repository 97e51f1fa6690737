"""What there is to tell of a site, as entries of its feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import partial

from kbsite.feeds.atom import END, Entry, Told
from kbsite.feeds.table import in_utc
from kbsite.model.audit import Audit
from kbsite.model.run import Run
from kbsite.pages.audits import Correction, corrections
from kbsite.pages.facts import came_to, in_short
from kbsite.pages.page import Site, attempt_of, from_home, run_path
from kbsite.pages.social import base_url, canonical
from kbsite.store.runs import StoredRun


def entries(site: Site, base: str) -> Iterator[Entry]:
    """New runs, new verdicts and corrections, in no order; `base` is put before addresses."""
    at = partial(_page, site, base)
    for stored in site.runs:
        run, audit = stored.run, stored.audit
        when = _told_on(stored)
        yield Entry(f"run:{run.id}", when, partial(_run, site, stored, at))
        if audit is not None:
            key = f"verdict:{run.id}:{audit.date}:{audit.verdict.value}"
            yield Entry(key, _after(when, audit.date), partial(_verdict, run, audit, at))
    times: Counter[str] = Counter()
    for one in reversed(corrections(site)):
        earlier = one.earlier
        key = f"correction:{one.stored.run.id}:{earlier.replaced}:{earlier.verdict.value}"
        times[key] += 1
        # A verdict may be replaced, come back and be replaced again within a day.
        key += f":{times[key]}" if times[key] > 1 else ""
        replaced = _after(_told_on(one.stored), earlier.replaced)
        yield Entry(key, replaced, partial(_correction, one, at))


def last_day(stored: StoredRun) -> date | None:
    """The last day on which a run was made, graded, judged or judged anew; None if nobody says."""
    when, audit = _told_on(stored), stored.audit
    replaced = [earlier.replaced for earlier in audit.history] if audit else []
    days = [when and in_utc(when).date(), audit and audit.date, *replaced]
    return max((day for day in days if day and day < END.date()), default=None)


def _run(site: Site, stored: StoredRun, at: Callable[[Run], str]) -> Told:
    run = stored.run
    return Told(
        title=f"run: {_who(run)}",
        href=at(run),
        summary=f"{site.problem_title(run.problem)}: {came_to(attempt_of(stored))}",
        author=run.contender.label,
        kind="run",
    )


def _verdict(run: Run, audit: Audit, at: Callable[[Run], str]) -> Told:
    return Told(
        title=f"{audit.verdict.value}: {_who(run)}",
        href=at(run),
        summary=in_short(audit.summary),
        author=audit.auditor,
        kind="verdict",
    )


def _correction(one: Correction, at: Callable[[Run], str]) -> Told:
    run, earlier = one.stored.run, one.earlier
    return Told(
        title=f"{_turn(one)}: {_who(run)}",
        href=at(run),
        summary=in_short(earlier.why),
        author=earlier.by,
        kind="correction",
    )


def _turn(one: Correction) -> str:
    """What a correction did to a verdict, in a few words."""
    before, verdict = one.earlier.verdict, one.verdict
    if before is not verdict:
        return f"{before.value} became {verdict.value}"
    if one.stays:
        return f"{verdict.value} judged anew"
    return f"{verdict.value} {'counts now' if one.counts else 'counts no longer'}"


def _who(run: Run) -> str:
    return f"{run.contender.label} on {run.problem}"


def _page(site: Site, base: str, run: Run) -> str:
    """Its address: the one that the page names itself, or its file as long as it has none."""
    if base_url(site):
        return canonical(site, run_path(run.id))
    return base + from_home(run_path(run.id))


def _told_on(stored: StoredRun) -> datetime | None:
    """When a run became news."""
    run = stored.run
    return stored.metrics.graded or run.ended or run.started or _named(run)


def _after(run: datetime | None, judged: date | None) -> datetime | date | None:
    """When a run was judged: a day, but on the day that the run is of not before it."""
    return run if run is not None and in_utc(run).date() == judged else judged


def _named(run: Run) -> datetime | None:
    """When a run began by its id, where nothing else tells."""
    try:
        return datetime.strptime(run.id[:15], "%Y%m%d_%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
