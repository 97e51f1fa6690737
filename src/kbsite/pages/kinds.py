"""The kinds of pages: one module each, listed in ALL.

A new kind of page is a module that fits PageModule, a template, and its name in ALL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kbsite.pages import (
    audits,
    board,
    compare,
    contenders,
    data,
    explore,
    hardware,
    home,
    left_out,
    methodology,
    missing,
    problem,
    run,
    runs,
)
from kbsite.pages.page import Page, Site
from kbsite.store.runs import StoredRun


class PageModule(Protocol):
    """A kind of page."""

    def pages(self, site: Site) -> Iterator[Page]:
        """The pages of this kind, made one at a time: a run's page holds its whole transcript."""
        ...


ALL: list[PageModule] = [
    home, board, run, left_out, runs, audits, compare, explore, problem, contenders, hardware,
    methodology, data, missing,
]  # fmt: skip


def every(site: Site) -> Iterator[Page]:
    """All pages of the site, in order of kind."""
    for module in ALL:
        yield from module.pages(site)


def of_run(site: Site, stored: StoredRun) -> Iterator[Page]:
    """The pages that are made of a run's own files: those that a node of a cluster can make."""
    yield run.page(site, stored)
    if site.config.bundles:
        yield data.bundle(stored)
