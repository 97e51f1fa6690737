"""What the feed, the sitemaps and the tables under data/ lead to is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from kbsite.feeds.sitemap import FURTHER
from kbsite.feeds.table import csv_rows
from kbsite.linting.addresses import Inside, Outside, resolved
from kbsite.linting.site import BuiltSite
from kbsite.linting.tables import BOARD
from kbsite.model.config import may_be_listed
from kbsite.model.finding import Finding, Severity
from kbsite.pages.data import CSV, FEED, LEADERBOARD, SITE
from kbsite.pages.page import INDEX

SITEMAP = "sitemap.xml"
_ROBOTS = "robots.txt"
_PLACES = (LEADERBOARD, "data/runs.json")
_NAMED = ("page", "raw", "trajectory", "markdown", "bundle")
"""Keys of the tables whose values are files of the site."""
_MOST = 50_000_000


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Addresses in lists that lead nowhere, and lists that cannot be read."""
    yield from _feed(site)
    yield from _sitemaps(site)
    for path in site.files:
        if path in _PLACES or BOARD.fullmatch(path):
            yield from _table(site, path)
    yield from _rows(site)


def is_listed(path: str) -> bool:
    """Whether a file is one of the lists in XML that kbsite writes."""
    return path in (FEED, SITEMAP) or FURTHER.fullmatch(path) is not None


def xml_root(site: BuiltSite, path: str) -> ElementTree.Element | Finding | None:
    """The root of an XML file; what is wrong where it is none, None where there is no such file."""
    if path not in site.files:
        return None
    if site.files[path].size > _MOST:
        return Finding(Severity.ERROR, path, f"larger than {_MOST} bytes; expected a short list")
    text = site.text(path)
    if "<!" in re.sub(r"<!\[CDATA\[|<!--", "", text):
        # Entities could make a small file endless.
        return Finding(Severity.ERROR, path, "declares a document type; expected none")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - it declares nothing
    except ElementTree.ParseError as error:
        message = f"no well-formed XML: {error}; build the site anew"
        return Finding(Severity.ERROR, path, message, line=error.position[0])


def _feed(site: BuiltSite) -> Iterator[Finding]:
    root = xml_root(site, FEED)
    if isinstance(root, Finding):
        yield root
    if root is None or isinstance(root, Finding):
        return
    atom = "{http://www.w3.org/2005/Atom}"
    seen: set[str] = set()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    for entry in root.iter(f"{atom}entry"):
        own = entry.findtext(f"{atom}id") or ""
        when = entry.findtext(f"{atom}updated") or ""
        if when > tomorrow:
            message = f"is dated {when}, and heads the feed until then; mend its run or audit"
            yield Finding(Severity.WARNING, FEED, message, key=entry.findtext(f"{atom}title"))
        if own in seen:
            message = "two entries have this id; readers would show one of them"
            yield Finding(Severity.ERROR, FEED, message, key=own)
        seen.add(own)
    for link in root.iter(f"{atom}link"):
        yield from _there(site, FEED, link.get("href", ""))


def _sitemaps(site: BuiltSite) -> Iterator[Finding]:
    if site.base and SITEMAP not in site.files and may_be_listed(_asked(site)):
        message = f"missing; {SITE} says that the site stands at {site.base}"
        yield Finding(Severity.ERROR, SITEMAP, message)
    told = re.findall(r"(?mi)^\s*sitemap:\s*(\S+)", site.text(_ROBOTS))
    for raw in told:
        yield from _there(site, _ROBOTS, raw)
    places = [p for p in site.files if FURTHER.fullmatch(p)]
    seen: set[str] = set()
    for path in [SITEMAP, *places]:
        root = xml_root(site, path)
        if isinstance(root, Finding):
            yield root
        elif root is not None:
            yield from _places_of(site, path, root, seen)


_ASKED = re.compile(r'<meta name="robots" content="([^"]*)">')


def _asked(site: BuiltSite) -> str:
    """What the first page asks of crawlers."""
    found = _ASKED.search(site.text(INDEX))
    return found[1] if found else ""


def _places_of(
    site: BuiltSite, path: str, root: ElementTree.Element, seen: set[str]
) -> Iterator[Finding]:
    for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc"):
        raw = place.text or ""
        if raw in seen:
            yield Finding(Severity.ERROR, path, "stands there twice; expected once", key=raw)
        seen.add(raw)
        yield from _there(site, path, raw, whole=True)


def _there(site: BuiltSite, path: str, raw: str, *, whole: bool = False) -> Iterator[Finding]:
    """Whether an address of a list is a file of the site; `whole`: with the site's own address."""
    held = resolved(raw, path)
    if isinstance(held, Outside) and site.base and raw.startswith(site.base):
        held = resolved(raw.removeprefix(site.base) or INDEX, INDEX)
    elif whole:
        message = f"expected an address below {site.base or 'the url of kbsite.yaml'}"
        yield Finding(Severity.ERROR, path, message, key=raw)
        return
    if not isinstance(held, Inside) or held.path not in site.files:
        yield Finding(Severity.ERROR, path, "leads to no file of the site; build it anew", key=raw)


def _data(site: BuiltSite, path: str) -> object:
    """What a table holds; that of one that is no JSON is told by `tables`."""
    try:
        data: object = json.loads(site.text(path))
    except (ValueError, RecursionError):
        return None
    return data


def _table(site: BuiltSite, path: str) -> Iterator[Finding]:
    told: set[str] = set()
    ahead = [_data(site, path)]
    while ahead:
        one = ahead.pop()
        if isinstance(one, dict):
            told.update(one[key] for key in _NAMED if isinstance(one.get(key), str))
            ahead.extend(one.values())
        elif isinstance(one, list):
            ahead.extend(one)
    yield from _files(site, path, told)


def _rows(site: BuiltSite) -> Iterator[Finding]:
    """The pages of the table of runs, where there is one."""
    head, *rows = csv_rows(site.text(CSV)) or [[]]
    told = (dict(zip(head, row, strict=False)).get("page", "") for row in rows)
    yield from _files(site, CSV, {page for page in told if page})


def _files(site: BuiltSite, path: str, told: Iterable[str]) -> Iterator[Finding]:
    """Which files of the site that a table names are not there."""
    for raw in sorted(told):
        held = resolved(raw, INDEX)
        if not isinstance(held, Inside) or held.path not in site.files:
            message = "names a file that the site does not have; build it anew"
            yield Finding(Severity.ERROR, path, message, key=raw)
