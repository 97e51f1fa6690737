"""Pages of runs made where no file of the build is seen, and put in their places by the build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from kbsite.build.tasks import Done, MakePage, PageMade, Prepared, Task, do, done, page_made
from kbsite.engines import Errand, Parcel
from kbsite.output import Gathered
from kbsite.pages.excerpt import Excerpt, bare, excerpt, site_with
from kbsite.pages.kinds import of_run
from kbsite.pages.page import Site
from kbsite.record import PageRecord, Record
from kbsite.rendering import Templates, environment
from kbsite.store.files import sent_along


class PageTold(Struct, frozen=True):
    """What there is to know of a page that is to be made."""

    path: str
    shows: Excerpt
    earlier: PageRecord | None
    """What it was made of the last time."""
    standing: frozenset[str]
    """Those of its files that stand in the site."""


class _Shown:
    """The site that templates see: they outlive the page, and the next one shows another run."""

    site: Site

    def __getattr__(self, name: str) -> object:
        return getattr(self.site, name)


@dataclass(frozen=True)
class PagesAfar:
    """Makes pages of runs of a site that is held but for its runs."""

    site: Site

    def do(self, told: PageTold, folder: Path) -> tuple[PageMade, Mapping[str, bytes | None]]:
        """A page, and its files; None for those that stay as they stand."""
        shows = replace(told.shows, stored=told.shows.stored.arrived(folder))
        site = site_with(self.site, shows)
        shown, templates = self._templates
        shown.site = site
        output = Gathered(told.standing)
        earlier = Record(pages={told.path: told.earlier} if told.earlier else {})
        page = next(one for one in of_run(site, shows.stored) if one.path == told.path)
        made = page_made(page, replace(templates, earlier=earlier, output=output), output)
        return made, output.files

    @cached_property
    def _templates(self) -> tuple[_Shown, Templates]:
        shown = _Shown()
        return shown, Templates(environment(cast(Site, shown)))


def errand(prepared: Prepared) -> Errand[Task, Done]:
    """The tasks of a build: pages of runs can be made afar, what shows several and copies not."""
    return Errand(
        here=partial(do, prepared),
        afar=lambda: PagesAfar(bare(prepared.site)),
        travels=lambda task: isinstance(task, MakePage) and task.run is not None,
        parcel=partial(_parcel, prepared),
        received=partial(_received, prepared),
    )


def _parcel(prepared: Prepared, task: Task) -> Parcel:
    assert isinstance(task, MakePage)
    assert task.run
    path, earlier = task.page.path, prepared.earlier.pages.get(task.page.path)
    shows = excerpt(prepared.site, task.run)
    told = PageTold(
        path, replace(shows, stored=task.run.sent()), earlier, _standing(prepared, earlier)
    )
    return Parcel(told, sent_along(task.run.files))


def _standing(prepared: Prepared, earlier: PageRecord | None) -> frozenset[str]:
    if earlier is None:
        return frozenset()
    others = (path for made in earlier.files.values() if made for path in made.others)
    paths = {*earlier.files, *others}
    return frozenset(path for path in paths if prepared.output.stand([path]))


def _received(prepared: Prepared, task: Task, back: Any) -> Done:
    assert isinstance(task, MakePage)
    made, files = back
    output = prepared.output.apart()
    for path, data in files.items():
        if data is None:
            output.keep([path])
        else:
            output.write_bytes(path, data)
    return done(prepared, task, made, output.placed)
