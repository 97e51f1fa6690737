"""`kbsite build`."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click

from kbsite.cli.options import FOLDER, config_option, settings, tally, tell
from kbsite.cli.progress import progress
from kbsite.store.settings import Settings

COLLECT_AFTER = 50_000
"""Objects that are made, and not dropped, before the next search for cycles of them."""


@click.command()
@config_option
@click.option("--runs", type=FOLDER, help="Folder of the runs.")
@click.option("--problems", type=FOLDER, help="Folder of the problems.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the site, replaced when all is written; with --single-file, the file.",
)
@click.option(
    "--single-file", "single", metavar="RUN", help="One run, by id or folder, as one HTML file."
)
@click.option("--search", is_flag=True, help="Make all texts searchable; needs kbsite[search].")
@click.option("--fresh", is_flag=True, help="Make every page anew, also those that did not change.")
@click.option(
    "--strict", is_flag=True, help="Exit 1 on any warning too, such as a due audit that is missing."
)
def build(  # noqa: PLR0913 - each option is an argument
    config: Path | None,
    runs: Path | None,
    problems: Path | None,
    out: Path | None,
    *,
    single: str | None,
    search: bool,
    fresh: bool,
    strict: bool,
) -> None:
    """Make the site of a folder of runs, or what has changed of it.

    Bad input never stops it: what cannot be read is left out and named, here and on the site.

    \b
    Example:
      kbsite build --runs runs --out site
      kbsite build --single-file runs/mine/20260102_030405_claude_opus_softmax
    """
    from kbsite.build import build as make
    from kbsite.build import override

    chosen = override(settings(config, runs), runs, problems, None if single else out)
    if search:
        chosen = replace(chosen, config=replace(chosen.config, search=True))
    if single is not None:
        _single(chosen, single, out, strict=strict)
        return
    if out is not None and out.is_file():
        raise click.BadParameter(f"{out} is a file", param_hint="--out")
    # A build makes many objects and hardly any cycle: looking for those often is a tenth of it.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    with progress() as tick:
        built = make(chosen, tick, fresh=fresh)
    told = [*built.findings, *built.unmet]
    for finding in told:
        tell(finding)
    seen = Counter(finding.severity for finding in told)
    work = built.work
    click.echo(f"{built.pages} pages, {tally(seen)}", err=True)
    click.echo(
        f"{work.parsed} transcripts read, {work.rendered} pages rendered,"
        f" {work.written} files written, {work.kept} kept",
        err=True,
    )
    if built.hidden:
        rules = ", ".join(f"{count} {rule}" for rule, count in built.hidden.items())
        click.echo(f"{sum(built.hidden.values())} passages of runs hidden: {rules}", err=True)
    click.echo(built.out / "index.html")
    if strict and told:
        sys.exit(1)


def _single(chosen: Settings, named: str, out: Path | None, *, strict: bool) -> None:
    from kbsite.single_file import write

    written = write(chosen, named, out)
    for finding in written.findings:
        tell(finding)
    click.echo(written.path)
    if strict and written.findings:
        sys.exit(1)
