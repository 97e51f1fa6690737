"""sitemap.xml and robots.txt, of a site that says where it will be published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import escape
from types import MappingProxyType
from urllib.parse import urlsplit

FURTHER = re.compile(r"sitemap-\d+\.xml")
"""What the files are called that sitemap.xml names where one cannot hold all."""

MOST = 50_000
"""Addresses in a file, by the protocol of sitemaps."""
MOST_BYTES = 50_000_000
"""Bytes of a file, by the same: names of 250 letters of East Asia make as many addresses larger."""


def sitemaps(
    addresses: Sequence[str], base: str, changed: Mapping[str, date] = MappingProxyType({})
) -> dict[str, str]:
    """The files, by path within the site: sitemap.xml, and others where one cannot hold all.

    `base` is where the site is published, with a slash at its end; `changed` tells of addresses on
    which day what stands there changed.
    """
    entries = [_entry("url", address, changed.get(address)) for address in addresses]
    cut = list(_cut(entries)) or [[]]
    if len(cut) == 1:
        return {"sitemap.xml": _listed("urlset", cut[0])}
    # A sitemap may name what stands in its own folder and below.
    named = {f"sitemap-{number}.xml": held for number, held in enumerate(cut, start=1)}
    index = _listed("sitemapindex", [_entry("sitemap", f"{base}{name}") for name in named])
    return {"sitemap.xml": index} | {name: _listed("urlset", held) for name, held in named.items()}


def _cut(entries: Sequence[str]) -> Iterator[Sequence[str]]:
    """The entries, as many at a time as a file may hold."""
    start = size = 0
    for at, entry in enumerate(entries):
        own = len(entry.encode()) + 1
        if at - start == MOST or size + own > MOST_BYTES - _HEAD:
            yield entries[start:at]
            start, size = at, 0
        size += own
    if start < len(entries):
        yield entries[start:]


_HEAD = 1_000
"""Bytes that are more than what stands before and after the addresses."""


def _entry(kind: str, address: str, changed: date | None = None) -> str:
    day = f"<lastmod>{changed}</lastmod>" if changed else ""
    return f"<{kind}><loc>{escape(address, quote=False)}</loc>{day}</{kind}>"


def _listed(outer: str, entries: Sequence[str]) -> str:
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<{outer} xmlns="{namespace}">\n'
    return head + "".join(f"{entry}\n" for entry in entries) + f"</{outer}>\n"


def robots(base: str, *, listed: bool = True) -> str:
    """robots.txt: pages may be read, the runs' raw files need not be.

    Its paths begin at the root of the host, wherever the site stands. Pages that are not to be
    listed may be read as well: they say so themselves.
    """
    at = urlsplit(base).path
    told = f"\nSitemap: {base}sitemap.xml\n" if listed else ""
    return f"User-agent: *\nDisallow: {at}runs/*/raw/\n{told}"
