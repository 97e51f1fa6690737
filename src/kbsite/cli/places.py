"""Places on the command line that may be in a bucket, and what is told of work there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import tell
from kbsite.cli.progress import progress
from kbsite.model.finding import Finding
from kbsite.store.alone import is_taken
from kbsite.store.locations import Location

if TYPE_CHECKING:
    from kbsite.store.settings import Settings


def tell_of_others(place: Path) -> None:
    """Tell who waits that somebody else is at work there."""
    if is_taken(place):
        click.echo(f"{place}: another build is under way; this one waits until it ends", err=True)


def fetched(chosen: Settings) -> tuple[Finding, ...]:
    """Bring the copy of the runs up to date, where they are in a bucket; what was found there."""
    if chosen.runs_at is None:
        return ()
    from kbsite.object_storage import mirror, open_bucket

    storage = chosen.config.storage
    bucket = open_bucket(chosen.runs_at, storage.endpoint)
    tell_of_others(chosen.runs)
    with progress() as tick:
        done = mirror(bucket, chosen.runs, storage, tick)
    for finding in done.findings:
        tell(finding)
    click.echo(
        f"{bucket.url('')}: {done.fetched} files fetched ({done.fetched_bytes} bytes),"
        f" {done.removed} removed, {done.kept} kept in {chosen.runs}",
        err=True,
    )
    return tuple(done.findings)


def sent(location: Location, site: Path, endpoint: str) -> tuple[Finding, ...]:
    """Publish a site to a bucket; what was found on the way."""
    from kbsite.object_storage import open_bucket, publish, refuse_no_site

    refuse_no_site(site)
    bucket = open_bucket(location, endpoint)
    tell_of_others(site)
    with progress() as tick:
        done = publish(bucket, site, tick)
    for finding in done.findings:
        tell(finding)
    click.echo(
        f"{bucket.url('')}: {done.sent} files sent ({done.sent_bytes} bytes),"
        f" {done.dropped} deleted, {done.kept} kept",
        err=True,
    )
    click.echo(bucket.url("index.html"))
    return tuple(done.findings)
