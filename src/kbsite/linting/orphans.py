"""Every file of the site is led to from its first page: what nobody finds, nobody meant to publish.

A browser asks for some by itself (404.html, robots.txt), scripts for others (compare.js of a run
that is listed, the search index, data/audits.js once there are verdicts), static/ is copied
whole into each site, and who keeps its versions has them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbsite.linting import css
from kbsite.linting.addresses import Inside, resolved
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity
from kbsite.pages.page import INDEX, compared_path
from kbsite.search import FOLDER as SEARCH
from kbsite.store.spares import MARKER
from kbsite.store.swapping import FOR_HOSTS, VERSIONS

_ASKED_FOR = re.compile(
    r"404\.html|robots\.txt|sitemap(-\d+)?\.xml"
    r"|static/.*|data/audits\.js|data/boards/[^/]+/card\.(svg|png)|runs/[^/]+/card\.(svg|png)|"
    + "|".join(map(re.escape, (MARKER, *FOR_HOSTS)))
    + rf"|(?:{'|'.join(map(re.escape, VERSIONS))})(?:/.*)?",
    re.DOTALL,
)


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Files that no page leads to."""
    seen = _led_to(site)
    searched = any(path.startswith(f"{SEARCH}/") for path in seen)
    for path in site.files:
        if path in seen or _ASKED_FOR.fullmatch(path) or path.removesuffix(".gz") in seen:
            continue
        if searched and path.startswith(f"{SEARCH}/"):
            continue
        message = "no page leads here; expected none but files that a reader can find"
        yield Finding(Severity.WARNING, path, message)


def _led_to(site: BuiltSite) -> set[str]:
    seen = {INDEX}
    ahead = [INDEX]
    while ahead:
        for path in _from(site, ahead.pop()):
            if path not in seen and path in site.files:
                seen.add(path)
                ahead.append(path)
    return seen


def _from(site: BuiltSite, path: str) -> Iterator[str]:
    facts = site.pages.get(path)
    if facts:
        loads = (load.raw for load in facts.loads)
        for raw in (*facts.links, *facts.asked, *facts.told, *loads):
            held = resolved(raw, path)
            if isinstance(held, Inside):
                yield held.path
            elif site.base and raw.startswith(site.base):
                yield raw.removeprefix(site.base)
        if re.fullmatch(r"runs/[^/]+/index\.html", path, re.DOTALL):
            yield compared_path(path.split("/")[1])
    elif path.endswith(".css"):
        for one in css.addresses(site.text(path)):
            held = resolved(one.raw, path)
            if isinstance(held, Inside):
                yield held.path
