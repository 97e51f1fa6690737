"""`kbsite verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kbsite.cli.options import TEXT, conclude, json_option, tell_all
from kbsite.cli.progress import progress
from kbsite.errors import UsageError

if TYPE_CHECKING:
    from kbsite.verifying.places import Place


@click.command()
@click.argument("site", type=TEXT, metavar="SITE_OR_URL")
@json_option
def verify(site: str, *, as_json: bool) -> None:
    """Derive every published figure anew from the raw data that a site publishes.

    SITE_OR_URL is a folder, or an address that starts with http://, https:// or file://. What does
    not follow is named with its file and key; then the exit code is 1.

    \b
    Example:
      kbsite verify site
      kbsite verify https://bench.example/hard/
    """
    from kbsite.verifying import verify as findings_of

    with progress() as tick:
        seen = tell_all(findings_of(_place(site), tick), as_json=as_json)
    conclude(seen)


def _place(site: str) -> Place:
    from kbsite.store.locations import place
    from kbsite.verifying.places import FolderPlace
    from kbsite.verifying.remote import UrlPlace

    scheme, sign, rest = site.partition("://")
    if sign and scheme.lower() in ("http", "https"):
        return UrlPlace(f"{scheme.lower()}://{rest}")
    folder = place(site) if sign and scheme.lower() == "file" else Path(site)
    assert isinstance(folder, Path)  # what begins so is in no bucket
    if folder.name == "index.html":
        folder = folder.parent
    if not folder.is_dir():
        raise UsageError(f"{site}: expected the folder of a site, or its address")
    return FolderPlace(folder)
