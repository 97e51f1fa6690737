"""A built site held against what every page of it has to keep: links, ids, policy, weight.

Nothing of the runs is read: what a reader gets is looked at, as it is about to be published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from kbsite.errors import InputError, MachineError
from kbsite.linting import (
    anchors,
    foreign,
    ids,
    links,
    listed,
    orphans,
    pictures,
    policy,
    raw_files,
    tables,
    weights,
)
from kbsite.linting.page_facts import PageFacts
from kbsite.linting.reading import Unread, read_pages
from kbsite.linting.site import MOST_BYTES, BuiltSite
from kbsite.model.config import published_base
from kbsite.model.finding import Finding, Severity
from kbsite.model.work import Tick
from kbsite.pages.data import SITE
from kbsite.pages.page import INDEX
from kbsite.store.files import HERE, Stored, contents
from kbsite.store.spares import standing


class Check(Protocol):
    """Something that has to hold of a site."""

    def findings(self, site: BuiltSite) -> Iterator[Finding]:
        """Where it does not hold."""
        ...


CHECKS: list[Check] = [
    links, anchors, ids, policy, foreign, pictures, raw_files, weights, orphans, listed,
    tables,
]  # fmt: skip


def of_one_site(folder: Path, findings: Iterator[Finding]) -> Iterator[Finding]:
    """What is found in the site in a folder.

    MachineError where a build puts another one there meanwhile: then nothing is said of either.
    """
    before = standing(folder)
    wrong: InputError | None = None
    try:
        yield from findings
    except InputError as error:
        wrong = error
    if standing(folder) != before:
        message = "another site took the place of this one while it was looked at; lint it again"
        raise MachineError(f"{message}: what was found is about neither") from wrong
    if wrong:
        raise wrong


def lint(folder: Path, tick: Tick | None = None) -> Iterator[Finding]:
    """Everything that is wrong with a built site; paths of findings are those within it.

    InputError where there is none.
    """
    held, refused = contents(folder)
    files = {file.name: file for file in held}
    if INDEX not in files:
        none = f"no {INDEX} in it; expected a site, as `kbsite build` makes it"
        shut = (one.told for one in refused if one.name == HERE)
        raise InputError(next(shut, none), path=folder)
    pages: dict[str, PageFacts] = {}
    for name, found in read_pages(files, tick).items():
        if isinstance(found, Unread):
            yield Finding(Severity.ERROR, name, found.reason)
        else:
            pages[name] = found
    site = BuiltSite(files, tuple(refused), dict(sorted(pages.items())), _base(files.get(SITE)))
    for check in CHECKS:
        yield from check.findings(site)


def _base(file: Stored | None) -> str:
    """Where the site will be published, as its own data say."""
    if file is None or file.size > MOST_BYTES:
        return ""
    try:
        url = json.loads(file.read())["config"]["url"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # `tables` says that the file cannot be used.
        return ""
    return published_base(url) if isinstance(url, str) else ""
