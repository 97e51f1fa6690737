"""Every place within a page that an address names is there, or is one that scripts bring.

Scripts bring, on a run's page (static/run/, static/find/):

* `#L12`, `#agent-L12`, `#L12-3`: the step of a line of a raw file. It stands on the page, or on the
  part whose `data-parts` hold the line, perhaps those of a list of parts; of a line between two
  steps it is the one before.
* `#PLACE:3-5`: lines of a text that stands at one of these places, or at an id.
* `#FILE-L3`, `#FILE-L3-5`: lines of a file, the first of which has an id, there or on the page that
  this one leads to for lines of that file that it leaves out (static/each/tables.js).

And the texts of a search's answers, which no page names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbsite.linting.addresses import Inside, resolved
from kbsite.linting.page_facts import PageFacts
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding

_LINE = re.compile(r"(.*?)L(\d{1,15})(-\d+)?", re.DOTALL)
_LINES = re.compile(r"(.+):\d+(-\d+)?", re.DOTALL)
_OF_FILE = re.compile(r"(.+-L)(\d{1,15})(-\d+)?", re.DOTALL)


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Addresses whose place is neither on their page nor brought to it."""
    for page, facts in site.pages.items():
        for raw in facts.links:
            held = resolved(raw, page) if "#" in raw else None
            if not isinstance(held, Inside) or not held.fragment:
                continue
            target = site.pages.get(held.path)
            if target and not _there(site, held.path, target, held.fragment):
                message = f"{held.path} has no such place, and no script brings one there"
                yield site.on(page, raw, message, key=raw)


def _there(site: BuiltSite, path: str, page: PageFacts, place: str) -> bool:
    of_text = _LINES.fullmatch(place)
    if any(_stands(site, path, page, one) for one in (place, of_text and of_text[1]) if one):
        return True
    of_file = _OF_FILE.fullmatch(place)
    return of_file is not None and _in_file(site, path, page, of_file[1], of_file[2])


def _in_file(site: BuiltSite, path: str, page: PageFacts, file: str, line: str) -> bool:
    """Whether a file has a line on a page, or on one that this leads to for lines of that file."""
    if f"{file}{line}" in page.ids:
        return True
    for raw in page.links:
        at = resolved(raw, path) if f"#{file}" in raw else None
        held = site.pages.get(at.path) if isinstance(at, Inside) else None
        if held and f"{file}{line}" in held.ids:
            return True
    return False


def _stands(site: BuiltSite, path: str, page: PageFacts, place: str) -> bool:
    if place in page.ids or place == "top":
        return True
    found = _LINE.fullmatch(place)
    return found is not None and _brought(site, path, page, place, found[1], int(found[2]))


def _brought(site: BuiltSite, path: str, page: PageFacts, place: str, file: str, line: int) -> bool:
    """Whether a part of a transcript has a step of a line."""
    parts = list(_parts_of(site, path, page, file, line))
    # A list of parts tells in which of them it is.
    for at, listing in list(parts):
        parts += _parts_of(site, at, listing, file, line)
    return any(place in held.ids or _before(held.ids, file, line) for _, held in parts)


def _parts_of(
    site: BuiltSite, path: str, page: PageFacts, file: str, line: int
) -> Iterator[tuple[str, PageFacts]]:
    """The pages, with their paths, of which a page tells that they hold a line."""
    for part in page.parts:
        if any(own == file and low <= line <= high for own, low, high in part.lines):
            at = resolved(part.page, path)
            if isinstance(at, Inside) and at.path in site.pages:
                yield at.path, site.pages[at.path]


def _before(ids: frozenset[str], file: str, line: int) -> bool:
    """Whether there is a step at a line or before it."""
    held = (_LINE.fullmatch(name) for name in ids)
    return any(one[1] == file and int(one[2]) <= line for one in held if one)
