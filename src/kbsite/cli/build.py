"""`kbsite build`."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from kbsite.cli.options import PLACE, TEXT, THERE, config_option, settings, tally, tell
from kbsite.cli.places import fetched, sent, tell_of_others
from kbsite.cli.progress import progress
from kbsite.engines import ENGINES, LOCAL, Engine, engine_of
from kbsite.engines.engine import COLLECT_AFTER
from kbsite.errors import UsageError
from kbsite.model.counts import number_of
from kbsite.model.finding import Finding, Severity
from kbsite.store.locations import Location
from kbsite.store.settings import Settings, moved, wrong

if TYPE_CHECKING:
    from kbsite.build import Built

_ERRORS = 10
"""Added to how many files have errors: smaller codes mean what they mean after every command."""
_ENGINE = "KBSITE_ENGINE"
_MOST = 100
"""The largest such exit code: shells have a use for those above 125."""


@click.command()
@config_option
@click.option("--runs", type=PLACE, help="Folder of the runs, or the URL of a bucket.")
@click.option("--problems", type=THERE, help="Folder of the problems.")
@click.option(
    "--out",
    type=PLACE,
    help="Folder of the site, replaced when all is written, or the URL of a bucket that it is"
    " published to; with --single-file, the file.",
)
@click.option(
    "--single-file",
    "single",
    type=TEXT,
    metavar="RUN",
    help="One run, by id or folder, as one HTML file.",
)
@click.option(
    "--search", is_flag=True, help="Make all texts searchable; small sites need kbsite[search]."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Build with N processes; otherwise as KBSITE_JOBS or kbsite.yaml say, else one a core.",
)
@click.option(
    "--engine",
    type=click.Choice([*ENGINES]),
    help="Where tasks are done: local, on this machine, or ray, on the Ray cluster that runs here"
    " or that RAY_ADDRESS names; otherwise as KBSITE_ENGINE or kbsite.yaml say.",
)
@click.option("--fresh", is_flag=True, help="Make every page anew, also those that did not change.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 where there are but warnings too, such as a due audit that is missing; with"
    " anything told, publish to no bucket.",
)
def build(  # noqa: PLR0913 - each option is an argument
    config: Path | None,
    runs: Path | Location | None,
    problems: Path | None,
    out: Path | Location | None,
    *,
    single: str | None,
    search: bool,
    jobs: int,
    engine: str | None,
    fresh: bool,
    strict: bool,
) -> None:
    """Make the site of a folder of runs, or what has changed of it.

    Bad input never stops it: what cannot be read is left out and named, here and on the site. The
    exit code says how many files have errors: 10 and one for each, 100 for ninety or more.

    \b
    Example:
      kbsite build --runs runs --out site
      kbsite build --runs s3://bench.example/runs --out s3://bench.example/site
      kbsite build --single-file runs/mine/20260102_030405_claude_opus_softmax
    """
    # A build makes many objects and hardly any cycle: looking for those often is a tenth of it.
    gc.set_threshold(COLLECT_AFTER)
    from kbsite.build import build as make
    from kbsite.build import override

    for hint, path in (("--runs", runs), ("--out", None if single else out)):
        if isinstance(path, Path) and path.is_file():
            raise click.BadParameter(f"{path} is a file", param_hint=hint)
    # Without a kbsite.yaml, a command line that names the runs says enough.
    held = settings(config, Path() if runs else None)
    chosen = override(moved(held, runs, None if single else out), None, problems, None)
    if search:
        chosen = replace(chosen, config=replace(chosen.config, search=True))
    if single is not None:
        _refuse_of_sites({"--search": search, "--jobs": jobs, "--engine": engine, "--fresh": fresh})
        _single(chosen, single, out, strict=strict)
        return
    builders = _builders(chosen, engine, jobs)
    _refuse_within(chosen)
    there = fetched(chosen)
    tell_of_others(chosen.out)
    gc.freeze()
    with progress() as tick:
        built = make(chosen, tick, fresh=fresh, engine=builders)
    _tell(built)
    told = [*there, *built.findings, *built.unmet]
    told += _published(chosen, built, publish=not (strict and told))
    sys.exit(_code(told, strict=strict))


def _refuse_of_sites(given: Mapping[str, object]) -> None:
    """Raise UsageError for an option that says how a site is made, where none is."""
    for option in filter(given.get, given):
        raise UsageError(f"{option} is for a whole site; leave it out beside --single-file")


def _refuse_within(chosen: Settings) -> None:
    """Raise UsageError where the site is to be among the runs, which the next build would read.

    Folders are looked at where they are written.
    """
    runs, out = chosen.runs_at, chosen.out_at
    if runs and out and out.is_within(runs):
        message = f"{out.url}: within the place of the runs, {runs.url}; choose --out outside it"
        raise UsageError(message)


def _builders(chosen: Settings, named: str | None, jobs: int) -> Engine:
    """Who builds; what lacks for that is told before anything is fetched, not after it."""
    told = os.environ.get(_ENGINE, "")
    name = named or told or chosen.config.engine or LOCAL
    if name not in ENGINES:
        if name == told:
            raise UsageError(f"{_ENGINE}: expected one of {', '.join(ENGINES)}, got {told!r}")
        raise wrong(chosen.path, "engine", f"expected one of {', '.join(ENGINES)}, got {name!r}")
    return engine_of(jobs, chosen.config.jobs, name)


def _code(told: Sequence[Finding], *, strict: bool) -> int:
    """The exit code after a build that was made: how many files have errors."""
    files = {finding.path for finding in told if finding.severity is Severity.ERROR}
    if files:
        return min(_ERRORS + len(files), _MOST)
    return int(strict and bool(told))


def _tell(built: Built) -> None:
    """Tell what a build found, and what it did."""
    told = [*built.findings, *built.unmet]
    for finding in told:
        tell(finding)
    seen = Counter(finding.severity for finding in told)
    work = built.work
    click.echo(f"{number_of(built.pages, 'page')}, {tally(seen)}", err=True)
    click.echo(
        f"{number_of(work.parsed, 'transcript')} read, {number_of(work.rendered, 'page')} rendered,"
        f" {number_of(work.written, 'file')} written, {work.kept:,} kept",
        err=True,
    )
    if built.hidden:
        rules = ", ".join(f"{count} {rule}" for rule, count in built.hidden.items())
        click.echo(f"{sum(built.hidden.values())} passages of runs hidden: {rules}", err=True)


def _published(chosen: Settings, built: Built, *, publish: bool) -> tuple[Finding, ...]:
    """Say where the site is, published if it is to be in a bucket; what was found on the way."""
    if chosen.out_at is None:
        click.echo(built.out / "index.html")
    elif publish:
        return sent(chosen.out_at, built.out, chosen.config.storage.endpoint)
    else:
        click.echo(f"not published, for --strict; the site is in {built.out}", err=True)
    return ()


def _single(chosen: Settings, named: str, out: Path | Location | None, *, strict: bool) -> None:
    from kbsite.single_file import write

    if isinstance(out, Location):
        raise click.BadParameter("a single file is written to a path", param_hint="--out")
    fetched(chosen)
    written = write(chosen, named, out)
    for finding in written.findings:
        tell(finding)
    click.echo(written.path)
    sys.exit(_code(written.findings, strict=strict))
