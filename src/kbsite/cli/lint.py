"""`kbsite lint`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from kbsite.cli.options import (
    FOLDER,
    conclude,
    config_option,
    json_option,
    settings,
    strict_option,
    tell_all,
)
from kbsite.cli.progress import progress
from kbsite.errors import MachineError


@click.command()
@click.argument("site", required=False, type=FOLDER, metavar="[SITE]")
@config_option
@strict_option
@click.option(
    "--nu",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="VNU.JAR",
    help="Let the Nu Html Checker, in this file, look at each page too; needs Java.",
)
@json_option
def lint(
    site: Path | None, config: Path | None, nu: Path | None, *, strict: bool, as_json: bool
) -> None:
    """Say what is wrong with a built site, before it is published.

    Links and places within pages, ids, the Content-Security-Policy of each page, anything loaded
    from another host, weights against budgets, files that no page leads to, feed and sitemap.
    SITE is a folder; without it, the one that kbsite.yaml names. Exit 1 on any error.

    \b
    Example:
      kbsite lint --strict
    """
    try:
        from kbsite.linting import lint as findings_of
        from kbsite.linting import of_one_site
        from kbsite.linting.nu import nu_findings
    except ImportError as error:
        cure = "install it with: pip install 'kbsite[lint]'"
        raise MachineError(f"`kbsite lint` cannot be used here: {error}; {cure}") from error

    folder = site or settings(config).out
    with progress() as tick:
        found = chain(findings_of(folder, tick), nu_findings(folder, nu) if nu else ())
        seen = tell_all(of_one_site(folder, found), as_json=as_json)
    conclude(seen, strict=strict)
