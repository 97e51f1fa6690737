"""`kbsite export`: runs as others read them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kbsite.cli.options import FOLDER, config_option, settings, tell
from kbsite.model.counts import number_of
from kbsite.model.finding import Severity


@click.group()
def export() -> None:
    """Write runs as others read them.

    \b
    Example:
      kbsite export hf dataset
    """


@export.command()
@click.argument("out", metavar="DIR", type=FOLDER)
@config_option
@click.option("--runs", type=FOLDER, help="Folder of the runs.")
def hf(out: Path, config: Path | None, runs: Path | None) -> None:
    """Write all runs as a dataset for the Hugging Face hub into DIR.

    It holds runs.jsonl, transcripts, solutions, annotations and a dataset card; what the site
    covers is covered here too. What an earlier export wrote there is replaced, anything else
    stays. Nothing is uploaded. A run that cannot be read is named and left out (exit code 1).

    \b
    Example:
      kbsite export hf dataset
    """
    from kbsite.build import override, refuse_within
    from kbsite.dataset import write_dataset
    from kbsite.hiding import hiding_of
    from kbsite.reading import read
    from kbsite.store.folders import refuse_blocked

    refuse_blocked(out)
    chosen = override(settings(config, runs), runs, None, None)
    # A dataset there would be taken for a run, or go with the next build.
    refuse_within(out, {**chosen.input_folders, "site": chosen.out}, "name one outside it")
    site = read(chosen, hiding=hiding_of(chosen, {}))
    for finding in site.findings:
        tell(finding)
    count = write_dataset(site, out)
    click.echo(number_of(count, "run"), err=True)
    click.echo(out)
    if any(finding.severity is Severity.ERROR for finding in site.findings):
        sys.exit(1)
