"""`kbsite publish`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from kbsite.cli.options import FILE, PLACE, settings
from kbsite.cli.places import sent
from kbsite.errors import UsageError
from kbsite.store.locations import Location


@click.command()
@click.argument("site", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("to", metavar="URL", type=PLACE)
@click.option("--config", type=FILE, help="kbsite.yaml, where the storage is none of AWS.")
@click.option("--strict", is_flag=True, help="Exit 1 where a file could not be published.")
def publish(site: Path, to: Path | Location, config: Path | None, *, strict: bool) -> None:
    """Let a bucket hold a site that stands in the folder SITE: what changed of it is sent.

    Readers find each page whole at any moment. What kbsite did not publish there is left alone.

    \b
    Example:
      kbsite publish site s3://bench.example/hard
    """
    if not isinstance(to, Location):
        raise UsageError(f"{to}: expected the URL of a bucket; `kbsite build --out` writes folders")
    # "." has no name, and what lies beside a site is called after it.
    site = Path(os.path.abspath(site))  # noqa: PTH100 - no link of it is followed
    endpoint = settings(config).config.storage.endpoint if config else ""
    if sent(to, site, endpoint) and strict:
        sys.exit(1)
